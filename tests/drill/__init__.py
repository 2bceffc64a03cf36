"""What happens to readers when surefind is killed, its disk fills, its files rot, too many ask."""
