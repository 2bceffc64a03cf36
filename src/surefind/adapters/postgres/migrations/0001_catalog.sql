-- Rows have no foreign key to their generation: a writer locks the generation first, and a copy of
-- a million rows would be checked row by row.

CREATE TABLE writer (
    only_one boolean PRIMARY KEY DEFAULT true CHECK (only_one),
    fence    bigint  NOT NULL DEFAULT 0,
    holder   text    NOT NULL DEFAULT '',
    identity uuid    NOT NULL DEFAULT gen_random_uuid()
);

INSERT INTO writer DEFAULT VALUES;

CREATE TABLE generation (
    id         bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    collection text        NOT NULL,
    number     integer     NOT NULL,
    begun_at   timestamptz NOT NULL DEFAULT now(),
    manifest   json,
    UNIQUE (collection, number)
);

CREATE TABLE pointer (
    collection    text        PRIMARY KEY,
    generation_id bigint      NOT NULL REFERENCES generation (id),
    revision      uuid        NOT NULL,
    moved_at      timestamptz NOT NULL
);

CREATE TABLE document (
    generation_id bigint NOT NULL,
    source_path   text   COLLATE "C" NOT NULL,
    url           text   NOT NULL,
    slug          text   NOT NULL,
    title         text   NOT NULL,
    version       text   NOT NULL,
    locale        text   NOT NULL,
    content_hash  text   NOT NULL,
    validator     text   NOT NULL,
    front_matter  json   NOT NULL,
    attributes    json   NOT NULL,
    text          text   NOT NULL,
    PRIMARY KEY (generation_id, source_path)
);

CREATE TABLE chunk (
    generation_id bigint      NOT NULL,
    point_id      uuid        NOT NULL,
    chunk_id      varchar(50) NOT NULL,
    source_path   text        COLLATE "C" NOT NULL,
    position      integer     NOT NULL,
    start_offset  integer     NOT NULL,
    end_offset    integer     NOT NULL,
    text          text        NOT NULL,
    heading_path  text[]      NOT NULL,
    context       text        NOT NULL,
    anchor        text        NOT NULL,
    tokens        integer     NOT NULL,
    term_count    integer     NOT NULL,
    content_hash  text        NOT NULL,
    has_code      boolean     NOT NULL,
    content_type  text        NOT NULL,
    created_at    timestamptz NOT NULL,
    PRIMARY KEY (generation_id, point_id),
    UNIQUE (generation_id, chunk_id),
    UNIQUE (generation_id, source_path, position)
);

-- The table of the retrieval API's contract, for its own SELECT: what readers see of one
-- collection, `docs` unless `SET surefind.collection` names another.
CREATE VIEW documents AS
SELECT c.chunk_id,
       c.source_path,
       d.slug::varchar(100)              AS slug,
       nullif(d.title, '')::varchar(255) AS title,
       c.position + 1                    AS order_index,
       c.text                            AS snippet,
       c.created_at AT TIME ZONE 'UTC'   AS created_at
FROM pointer p
JOIN chunk c ON c.generation_id = p.generation_id
JOIN document d ON d.generation_id = c.generation_id AND d.source_path = c.source_path
WHERE p.collection = coalesce(nullif(current_setting('surefind.collection', true), ''), 'docs');
