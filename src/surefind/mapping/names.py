"""Scores key names for each role. Names are hints; the values decide."""

import re
import unicodedata
from functools import lru_cache

from surefind.mapping.paths import parts_of
from surefind.model import Role


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


def _plain(text: str) -> str:
    """Strip accents, including those of Japanese and Russian letters."""
    decomposed = unicodedata.normalize("NFKD", text)
    return "".join(letter for letter in decomposed if not unicodedata.combining(letter))


# Weights of words and phrases that occur in key names.
_WORDS: dict[Role, dict[str, float]] = {
    Role.TEXT: {
        "text": 1.0, "content": 1.0, "page content": 1.0, "chunk text": 1.0, "passage": 1.0,
        "body": 0.95, "chunk": 0.8, "document": 0.8, "markdown": 0.8, "paragraph": 0.8,
        "paragraphs": 0.8, "segment": 0.7, "answer": 0.7, "data": 0.5, "plain": 0.6,
        "description": 0.5, "snippet": 0.6, "html": 0.5, "raw": 0.4, "message": 0.6, "excerpt": 0.5,
        "inhalt": 1.0, "contenu": 1.0, "texte": 1.0, "contenido": 1.0, "texto": 1.0, "testo": 1.0,
        "conteudo": 1.0, "abstract": 0.5, "summary": 0.25, "page": 0.3, "value": 0.3, "code": 0.5,
    },
    Role.URL: {
        "url": 1.0, "uri": 0.95, "link": 0.9, "href": 0.9, "permalink": 1.0, "source": 0.7,
        "address": 0.7, "adresse": 0.8, "lien": 0.9, "enlace": 0.9, "page": 0.6, "location": 0.5,
        "website": 0.5, "reference": 0.4, "canonical url": 1.0, "page url": 1.0,
        "source url": 1.0,
    },
    Role.SOURCE_PATH: {
        "source path": 1.0, "file path": 1.0, "filepath": 1.0, "path": 0.9, "source": 0.8,
        "file": 0.85, "file name": 0.8, "filename": 0.8, "doc path": 1.0, "document": 0.6,
        "full path": 0.95, "doc": 0.6, "slug": 0.45, "name": 0.4, "datei": 0.85, "fichier": 0.85,
        "pfad": 0.9, "chemin": 0.9, "quelle": 0.7, "key": 0.3, "origin": 0.5,
    },
    Role.SLUG: {"slug": 1.0, "page slug": 1.0, "doc slug": 1.0},
    Role.TITLE: {
        "title": 1.0, "page title": 1.0, "doc title": 1.0, "document title": 1.0, "titel": 1.0,
        "titre": 1.0, "titulo": 1.0, "titolo": 1.0, "headline": 0.9, "name": 0.5, "chapter": 0.55,
        "subject": 0.6, "kapitel": 0.55, "chapitre": 0.55, "page name": 0.8, "h1": 0.9,
        "header 1": 0.9, "document name": 0.7,
    },
    Role.SECTION: {
        "section": 0.8, "heading": 1.0, "section title": 1.0, "section heading": 1.0,
        "section name": 1.0, "headings": 1.0, "subsection": 0.95, "breadcrumb": 0.85,
        "breadcrumbs": 0.85, "header": 0.8, "headers": 0.8, "titles": 0.9, "sections": 0.6,
        "parent sections": 0.95, "heading path": 1.0, "subtitle": 0.6, "subheading": 0.9,
        "abschnitt": 0.9, "uberschrift": 1.0, "rubrique": 0.9, "seccion": 0.9, "sezione": 0.9,
        "h2": 0.9, "h3": 0.9, "topic": 0.4, "chapter": 0.45, "header 2": 0.9, "header 3": 0.9,
        "header 4": 0.85, "h4": 0.85,
    },
    Role.POSITION: {
        "chunk index": 1.0, "position": 1.0, "chunk number": 1.0, "chunk no": 1.0, "index": 0.85,
        "order index": 1.0, "order": 0.8, "ordinal": 1.0, "seq": 0.95, "sequence": 0.95,
        "chunk": 0.75, "chunk id": 0.6, "part": 0.7, "split id": 0.9, "idx": 0.8, "chunk idx": 1.0,
        "start index": 0.8, "start line": 0.8, "line start": 0.8, "start char idx": 0.8,
        "char start": 0.8, "start char": 0.8, "start offset": 0.8, "offset": 0.75, "start": 0.75,
        "split idx start": 0.7, "from": 0.7, "line": 0.7, "line number": 0.7, "page number": 0.6,
        "page": 0.55, "page no": 0.6, "page label": 0.45, "paragraph": 0.7, "number": 0.6,
        "location": 0.5, "nr": 0.75, "nummer": 0.75, "numero": 0.75, "absatz": 0.8, "n": 0.5,
        "no": 0.6, "i": 0.5, "posicion": 1.0, "indice": 0.85, "seite": 0.55, "block": 0.6,
    },
    Role.ID: {
        "chunk id": 1.0, "id": 0.9, "uuid": 0.9, "chunk uuid": 1.0, "point id": 0.95,
        "node id": 0.95, "passage id": 1.0, "segment id": 1.0, "key": 0.6, "guid": 0.9,
        "identifier": 0.9, "doc id": 0.5, "sku": 0.5, "kennung": 0.8,
    },
    Role.DOCUMENT: {
        "document id": 1.0, "doc id": 0.9, "ref doc id": 0.85, "full doc id": 0.95,
        "source id": 0.85, "file id": 0.85, "page id": 0.85, "parent id": 0.85,
        "parent document id": 0.95, "parent uuid": 0.85, "document uuid": 1.0, "article id": 0.8,
        "dokument id": 1.0, "docid": 0.9, "documentid": 1.0,
    },
    Role.HASH: {
        "hash": 1.0, "content hash": 1.0, "text hash": 1.0, "checksum": 1.0, "digest": 0.95,
        "md5": 1.0, "sha256": 1.0, "sha1": 1.0, "sha": 0.9, "fingerprint": 0.8, "etag": 0.6,
        "prufsumme": 1.0, "doc hash": 0.95, "segment hash": 1.0, "chunk hash": 1.0,
    },
    Role.CREATED_AT: {
        "created at": 1.0, "created": 0.95, "creation date": 0.95, "creationdate": 0.95,
        "date created": 0.95, "indexed at": 0.85, "ingested at": 0.9, "timestamp": 0.85, "ts": 0.8,
        "time": 0.7, "date": 0.75, "published": 0.8, "published at": 0.85, "updated at": 0.6,
        "updated": 0.55, "modified": 0.5, "last modified": 0.5, "erstellt": 0.95, "datum": 0.8,
        "date creation": 0.95, "creado": 0.9, "crawled at": 0.8, "scraped at": 0.8,
        "last modified date": 0.5, "fecha": 0.75,
    },
}  # fmt: skip


def _words(role: Role, words: str, weight: float) -> None:
    _WORDS[role].update(dict.fromkeys(words.split(","), weight))


# German, Spanish, French, Italian, Portuguese and Dutch, without accents.
_words(Role.TEXT, "textinhalt,wortlaut,fliesstext,cuerpo,corps,corpo,inhoud,tekst", 0.95)
_words(Role.TEXT, "absatz text,passage text,textabschnitt,parrafo,paragraphe,paragrafo", 0.8)
_words(Role.URL, "webadresse,fundstelle,verweis,direccion,indirizzo,endereco,adres", 0.8)
_words(Role.SOURCE_PATH, "dateipfad,dateiname,archivo,ruta,percorso,caminho,bestand,pad", 0.85)
_words(Role.TITLE, "seitentitel,dokumenttitel,intitule,titel der seite,nombre de pagina", 0.95)
_words(Role.TITLE, "bezeichnung,denominacion", 0.55)
_words(Role.SECTION, "ueberschrift,encabezado,intestazione,cabecalho,kop,sous titre", 0.95)
_words(Role.SECTION, "zwischentitel,unterkapitel,subtitulo,secao,sectie,paragraaf", 0.9)
_words(Role.SECTION, "kapitel,capitulo,chapitre,capitolo,hoofdstuk,unterabschnitt", 0.5)
_words(Role.POSITION, "laufnummer,laufende nummer,lfd nr,lfd,reihenfolge,abschnittsnummer", 0.85)
_words(
    Role.POSITION, "orden,ordre,ordine,ordem,volgorde,rang,folge,posizione,posicao,positie", 0.75
)
_words(Role.POSITION, "numero de fragmento,indice de fragmento,numero de bloque", 1.0)
_words(Role.CREATED_AT, "erstellt am,angelegt,creado en,cree le,creato il,criado em,erfasst", 0.9)
_words(Role.CREATED_AT, "erstellungsdatum,fecha de creacion,data di creazione,zeitstempel", 0.95)

# Matched as substrings, because these scripts have no spaces.
_OTHER_SCRIPTS: dict[Role, dict[str, float]] = {
    Role.TEXT: {"正文": 1.0, "内容": 0.9, "文本": 1.0, "段落": 0.8, "本文": 1.0, "텍스트": 1.0,
                "본문": 1.0, "내용": 0.9, "текст": 1.0, "содержание": 0.9},
    Role.URL: {"链接": 1.0, "网址": 1.0, "地址": 0.7, "リンク": 1.0, "링크": 1.0, "ссылка": 1.0,
               "адрес": 0.7},
    Role.SOURCE_PATH: {"文件": 0.85, "路径": 0.95, "来源": 0.7, "ファイル": 0.85, "パス": 0.9,
                       "파일": 0.85, "файл": 0.85, "путь": 0.95},
    Role.TITLE: {"标题": 1.0, "題名": 1.0, "タイトル": 1.0, "页名": 0.9, "제목": 1.0,
                 "заголовок": 0.8, "название": 0.9, "書名": 0.6, "书名": 0.6},
    Role.SECTION: {"小节": 1.0, "章节": 0.9, "小标题": 1.0, "見出し": 1.0, "セクション": 1.0,
                   "소제목": 1.0, "섹션": 1.0, "раздел": 0.95},
    Role.POSITION: {"序号": 1.0, "顺序": 0.9, "位置": 0.9, "编号": 0.6, "順番": 0.9, "番号": 0.6,
                    "순서": 0.9, "번호": 0.6, "позиция": 1.0, "номер": 0.6, "порядок": 0.9},
    Role.ID: {"标识": 0.8, "識別子": 0.9, "식별자": 0.9, "идентификатор": 0.9},
    Role.DOCUMENT: {"文档编号": 0.9, "文書番号": 0.9, "문서번호": 0.9},
    Role.HASH: {"哈希": 1.0, "校验": 0.8, "ハッシュ": 1.0, "해시": 1.0, "хэш": 1.0},
    Role.CREATED_AT: {"创建时间": 1.0, "时间": 0.7, "日期": 0.75, "作成日": 1.0, "日時": 0.8,
                      "생성일": 1.0, "날짜": 0.75, "создано": 1.0, "дата": 0.75},
}  # fmt: skip

# Words that change the meaning of a name: `total_chunks` is not a position.
_AGAINST: dict[Role, frozenset[str]] = {
    Role.TEXT: _set(
        "type hash id length count size url lemmatized tokens title format lang language mime "
        "parent keywords name metadata meta source config contextual context preview"
    ),
    Role.URL: _set(
        "image img avatar icon logo thumbnail edit homepage parent og base root cdn photo video "
        "favicon repo repository github author card media type name"
    ),
    Role.SOURCE_PATH: _set(
        "type size directory dir folder segments image mime id title hash url count"
    ),
    Role.SLUG: _set("section heading category tag author parent"),
    Role.TITLE: _set(
        "section parent id hash author user type count subtitle first class file authors verfasser "
        "autor autorin auteur autore writer editor owner creator redakteur \u4f5c\u8005"
    ),
    Role.SECTION: _set("id level count anchor type total index number chunks pages"),
    Role.POSITION: _set(
        "total count size end to level length tokens token words word year score version module "
        "user hash width height time pages chunks dimension until rating status code"
    ),
    Role.ID: _set(
        "user tenant session document parent source file page group dataset workspace module ref "
        "category author collection model index account full article org project thread run"
    ),
    Role.DOCUMENT: _set("chunk node user group dataset workspace tenant point"),
    Role.HASH: _set("parent"),
    Role.CREATED_AT: _set("embedding read year zone"),
}
_ELSEWHERE = _set("relationships embedding config")
_LEVEL = re.compile(r"(?:header|heading|h)([1-6])")


@lru_cache(maxsize=4096)
def words_of(path: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """(words of the last step, words of the earlier steps), without case and accents."""
    steps = [_split(step) for step in parts_of(path)]
    before = tuple(word for step in steps[:-1] for word in step)
    return steps[-1], before


def _split(step: str) -> tuple[str, ...]:
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", _plain(step))
    return tuple(re.findall(r"[^\W_]+", spaced.lower()))


@lru_cache(maxsize=65536)
def name_score(role: Role, path: str) -> float:
    """How strongly a name suggests a role, in 0..1."""
    words, before = words_of(path)
    best = _other_script(role, "".join(words))
    for phrase, weight in _WORDS[role].items():
        phrase_words = tuple(phrase.split())
        if _within(phrase_words, words):
            share = (len(phrase_words) / len(words)) ** 0.3
            best = max(best, weight * share)
    if _AGAINST[role] & set(words):
        exact = " ".join(words) in _WORDS[role]
        best *= 1.0 if exact else 0.15
    if _ELSEWHERE & set(before):
        best *= 0.2
    return best


def speaks_against(role: Role, path: str) -> bool:
    """Whether the name rules out a role, as `author` for a title, or a parent hash for a hash."""
    words, before = words_of(path)
    return bool(_AGAINST[role] & set(words) or _ELSEWHERE & set(before))


def _other_script(role: Role, name: str) -> float:
    """Match names in Chinese and Japanese, which have no spaces between words."""
    if name.isascii():
        return 0.0
    weights = (
        weight * (len(phrase) / len(name)) ** 0.3
        for phrase, weight in _OTHER_SCRIPTS.get(role, {}).items()
        if _plain(phrase) in name
    )
    return max(weights, default=0.0)


def _within(phrase_words: tuple[str, ...], words: tuple[str, ...]) -> bool:
    return any(
        words[at : at + len(phrase_words)] == phrase_words
        for at in range(len(words) - len(phrase_words) + 1)
    )


def level_of(path: str) -> int | None:
    """The heading level in a key's name, such as `Header 2` or `h2`."""
    match = _LEVEL.fullmatch("".join(words_of(path)[0]))
    return int(match[1]) if match else None
