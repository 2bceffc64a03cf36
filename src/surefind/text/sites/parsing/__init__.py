"""Configurations in JavaScript, globs, containers and parts of files: what several sites share."""
