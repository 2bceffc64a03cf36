"""AsciiDoc, as Asciidoctor reads it. Nothing in a page is executed, and no address is opened."""
