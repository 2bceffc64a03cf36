fn small() {}
