"""Reports of a validation as files: JSON, Markdown, JUnit, TREC runs. Each writer gives text."""
