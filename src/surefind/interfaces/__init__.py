"""How people and programs reach surefind. Only here are surefind's errors caught."""
