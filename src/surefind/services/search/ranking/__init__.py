"""Final scores of hybrid search: kinds of pages, exact headings, and pages as a whole."""
