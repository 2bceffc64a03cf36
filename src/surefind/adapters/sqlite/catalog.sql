CREATE TABLE document (
    source_path  TEXT PRIMARY KEY,
    url          TEXT NOT NULL,
    slug         TEXT NOT NULL,
    title        TEXT NOT NULL,
    version      TEXT NOT NULL,
    locale       TEXT NOT NULL,
    content_hash TEXT NOT NULL,
    validator    TEXT NOT NULL,
    front_matter TEXT NOT NULL,
    attributes   TEXT NOT NULL,
    text         TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE chunk (
    point_id     BLOB PRIMARY KEY,
    chunk_id     TEXT NOT NULL UNIQUE,
    source_path  TEXT NOT NULL REFERENCES document (source_path),
    position     INTEGER NOT NULL,
    start_offset INTEGER NOT NULL,
    end_offset   INTEGER NOT NULL,
    text         TEXT NOT NULL,
    heading_path TEXT NOT NULL,
    context      TEXT NOT NULL,
    anchor       TEXT NOT NULL,
    tokens       INTEGER NOT NULL,
    term_count   INTEGER NOT NULL,
    content_hash TEXT NOT NULL,
    has_code     INTEGER NOT NULL,
    content_type TEXT NOT NULL,
    created_at   TEXT NOT NULL
);

CREATE UNIQUE INDEX chunk_place ON chunk (source_path, position);
