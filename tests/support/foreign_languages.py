"""Payloads in other languages, nested, abbreviated, and such as look like what they are not."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass

from support.payload_shapes import Passage, Payload, Shape


@dataclass(frozen=True, slots=True)
class Language:
    """The book's pages, headings and sentences in another language."""

    pages: Sequence[str]
    headings: Sequence[str]
    sentences: Sequence[str]
    space: str = " "

    def title(self, p: Passage) -> str:
        return self.pages[p.page]

    def heading(self, p: Passage) -> str:
        return self.headings[p.index // 2 % len(self.headings)]

    def text(self, p: Passage) -> str:
        chosen = [
            self.sentences[(p.number * 3 + k) % len(self.sentences)]
            for k in range(1 + (p.number * 7) % 4)
        ]
        return f"{self.space.join(chosen)}{self.space}({self.title(p)} {p.index + 1})"


GERMAN = Language(
    ("Themen", "Dienste", "Parameter", "Startdateien", "Aufzeichnungen", "Zeit und Uhren"),
    ("Veröffentlichen", "Zuhören", "Grenzen", "Beispiele"),
    (
        "Ein Thema ist ein benannter Bus, über den Knoten Nachrichten austauschen.",
        "Der Absender weiß nicht, wer zuhört, und er wartet nie auf eine Antwort.",
        "Stellen Sie die Tiefe der Warteschlange auf zehn, sonst gehen Nachrichten verloren.",
        "Dienste werden aufgerufen, Themen werden gehört; das ist der ganze Unterschied.",
        "Stürzt der Knoten ab, so startet ihn der Aufseher nach zwei Sekunden neu.",
    ),
)
SPANISH = Language(
    ("Temas", "Servicios", "Parámetros", "Archivos de arranque", "Grabaciones", "Tiempo y relojes"),
    ("Publicar", "Escuchar", "Límites", "Ejemplos"),
    (
        "Un tema es un bus con nombre por el que los nodos intercambian mensajes.",
        "El emisor no sabe quién escucha y nunca espera una respuesta.",
        "Ponga la profundidad de la cola en diez, o se perderán mensajes en una red lenta.",
        "Los servicios se llaman y los temas se escuchan; esa es toda la diferencia.",
        "Si el nodo falla, el supervisor lo arranca de nuevo después de dos segundos.",
    ),
)
FRENCH = Language(
    ("Sujets", "Services", "Paramètres", "Fichiers de lancement", "Enregistrements", "Le temps"),
    ("Publier", "Écouter", "Limites", "Exemples"),
    (
        "Un sujet est un bus nommé par lequel les nœuds échangent des messages.",
        "L'émetteur ne sait pas qui écoute, et il n'attend jamais de réponse.",
        "Réglez la profondeur de la file à dix, sinon des messages seront perdus.",
        "Les services sont appelés, les sujets sont écoutés ; c'est toute la différence.",
        "Si le nœud tombe, le superviseur le relance après deux secondes.",
    ),
)
CHINESE = Language(
    ("话题", "服务", "参数", "启动文件", "录制包", "时间与时钟"),
    ("发布消息", "订阅消息", "限制", "示例"),
    (
        "话题是一条有名称的总线，节点通过它交换消息。",
        "发布者不知道谁在监听，也从不等待回应。",
        "请把队列深度设为十，否则网络缓慢时会丢失消息。",
        "服务是被调用的，话题是被监听的，这就是全部的区别。",
        "如果节点崩溃，监督程序会在两秒后重新启动它。",
    ),
    "",
)
JAPANESE = Language(
    ("トピック", "サービス", "パラメータ", "起動ファイル", "記録バッグ", "時刻と時計"),
    ("配信する", "購読する", "制限", "使用例"),
    (
        "トピックは、ノードがメッセージを交換するための名前付きバスです。",
        "送信側は誰が聞いているかを知らず、返答を待つこともありません。",
        "キューの深さを十に設定しないと、遅いネットワークではメッセージが失われます。",
        "サービスは呼び出され、トピックは購読されます。それが違いのすべてです。",
        "ノードが停止すると、監視プログラムが二秒後に再起動します。",
    ),
    "",
)
HOST = "https://beispiel.example/doku"

SHAPES: tuple[Shape, ...] = (
    Shape(
        "German: laufnummer, rubrik",
        lambda p: {
            "inhaltstext": GERMAN.text(p),
            "ueberschrift": GERMAN.heading(p),
            "seitentitel": GERMAN.title(p),
            "fundstelle": f"{HOST}/{p.slug}",
            "laufnummer": p.index,
            "zeichen": len(GERMAN.text(p)),
            "erfasst": p.created.isoformat(),
        },
        {
            "text": "inhaltstext",
            "section": "ueberschrift",
            "title": "seitentitel",
            "url": "fundstelle",
            "position": "laufnummer",
            "created_at": "erfasst",
        },
    ),
    Shape(
        "German: nested",
        lambda p: {
            "dok": {"pfad": f"handbuch/{p.slug}.md", "bezeichnung": GERMAN.title(p)},
            "teil": {"lfd": p.index + 1, "kopf": GERMAN.heading(p), "wortlaut": GERMAN.text(p)},
        },
        {
            "text": "teil.wortlaut",
            "source_path": "dok.pfad",
            "title": "dok.bezeichnung",
            "section": "teil.kopf",
            "position": "teil.lfd",
        },
        none=("url",),
        notes={"first_position": 1},
    ),
    Shape(
        "Spanish",
        lambda p: {
            "cuerpo": SPANISH.text(p),
            "encabezado": SPANISH.heading(p),
            "denominacion": SPANISH.title(p),
            "direccion": f"{HOST}/{p.slug}",
            "orden": p.index,
            "creado_en": p.created.strftime("%d/%m/%Y %H:%M"),
            "idioma": "es",
        },
        {
            "text": "cuerpo",
            "section": "encabezado",
            "title": "denominacion",
            "url": "direccion",
            "position": "orden",
            "created_at": "creado_en",
        },
    ),
    Shape(
        "French",
        lambda p: {
            "corps": FRENCH.text(p),
            "intitule": FRENCH.title(p),
            "sous_partie": FRENCH.heading(p),
            "emplacement": f"{HOST}/{p.slug}",
            "rang": p.index,
        },
        {
            "text": "corps",
            "title": "intitule",
            "section": "sous_partie",
            "url": "emplacement",
            "position": "rang",
        },
    ),
    Shape(
        "Chinese",
        lambda p: {
            "正文": CHINESE.text(p),
            "标题": CHINESE.title(p),
            "小节": CHINESE.heading(p),
            "链接": f"{HOST}/{p.slug}",
            "序号": p.index,
            "创建时间": p.created.isoformat(),
        },
        {
            "text": "正文",
            "title": "标题",
            "section": "小节",
            "url": "链接",
            "position": "序号",
            "created_at": "创建时间",
        },
    ),
    Shape(
        "Chinese: nested, without a section",
        lambda p: {
            "内容": CHINESE.text(p),
            "元数据": {"来源": f"文档/{p.slug}.md", "页名": CHINESE.title(p), "编号": p.index + 1},
        },
        {
            "text": "内容",
            "source_path": "元数据.来源",
            "title": "元数据.页名",
            "position": "元数据.编号",
        },
        none=("url", "section"),
        notes={"first_position": 1},
    ),
    Shape(
        "Japanese",
        lambda p: {
            "本文": JAPANESE.text(p),
            "題名": JAPANESE.title(p),
            "見出し": JAPANESE.heading(p),
            "番号": p.index,
            "場所": f"{HOST}/{p.slug}",
        },
        {
            "text": "本文",
            "title": "題名",
            "section": "見出し",
            "position": "番号",
            "url": "場所",
        },
    ),
    Shape(
        "single letters",
        lambda p: {"t": p.text, "u": p.url, "h": p.title, "s": p.heading, "k": p.index},
        {"text": "t", "url": "u", "title": "h", "section": "s", "position": "k"},
    ),
    Shape(
        "doc.ord and t",
        lambda p: {
            "doc": {"p": p.path, "ord": p.index, "t": p.title},
            "c": p.text,
            "sha": p.sha256,
        },
        {
            "text": "c",
            "source_path": "doc.p",
            "title": "doc.t",
            "position": "doc.ord",
            "hash": "sha",
        },
        none=("url", "section"),
    ),
    Shape(
        "names that say nothing",
        lambda p: {
            "f1": p.text,
            "f2": p.url,
            "f3": p.title,
            "f4": p.heading,
            "f5": p.index,
            "f6": p.created.isoformat(),
            "f7": p.sha256,
            "f8": p.uuid,
        },
        {
            "text": "f1",
            "url": "f2",
            "title": "f3",
            "section": "f4",
            "position": "f5",
            "created_at": "f6",
            "hash": "f7",
        },
    ),
    Shape(
        "JSON in a string, in German",
        lambda p: {
            "nutzlast": json.dumps(
                {
                    "absatz": GERMAN.text(p),
                    "lage": {"folge": p.index, "blatt": GERMAN.title(p), "ort": p.url},
                }
            )
        },
        {
            "text": "nutzlast.absatz",
            "title": "nutzlast.lage.blatt",
            "position": "nutzlast.lage.folge",
            "url": "nutzlast.lage.ort",
        },
    ),
    Shape(
        "deep",
        lambda p: {
            "a": {"b": {"c": {"d": p.text, "e": p.index}, "g": p.title}, "w": p.url},
        },
        {"text": "a.b.c.d", "position": "a.b.c.e", "title": "a.b.g", "url": "a.w"},
    ),
)


def _one_each(p: Passage) -> Payload:
    """Every document is one chunk: nothing counts within it."""
    return {
        "text": p.text,
        "url": f"{p.url}/{p.number}",
        "zahl": p.number % 7,
        "label": f"Page {p.number} of the {p.title.lower()}",
    }


WRITERS = ("Ann Lee", "Bo Chen", "Cy Diaz", "Di Engel", "Ed Faure", "Flo Gatti")


ADVERSARIAL: tuple[Shape, ...] = (
    Shape(
        "a writer for each document",
        lambda p: {"t": p.text, "u": p.url, "verfasser": WRITERS[p.page], "von": p.page},
        {"text": "t", "url": "u"},
        none=("title", "section", "position"),
    ),
    Shape(
        "a number of each point, called a number",
        lambda p: {"t": p.text, "u": p.url, "nummer": p.number, "n": p.page * 8 + p.index},
        {"text": "t", "url": "u"},
        none=("title", "section", "position"),
    ),
    Shape(
        "two dates without a name",
        lambda p: {
            "t": p.text,
            "u": p.url,
            "x": p.created.isoformat(),
            "y": p.created.replace(year=2024).isoformat(),
        },
        {"text": "t", "url": "u"},
        none=("created_at", "position"),
    ),
    Shape(
        "two labels for each document",
        lambda p: {"t": p.text, "u": p.url, "a": p.title, "b": f"{p.title} by {WRITERS[p.page]}"},
        {"text": "t", "url": "u", "title": "a"},
        none=("section", "position"),
    ),
    Shape(
        "another text's hash, and random digits",
        lambda p: {
            "t": p.text,
            "u": p.url,
            "x1": hashlib.sha256(p.title.encode()).hexdigest(),
            "x2": hashlib.sha256(p.uuid.encode()).hexdigest(),
        },
        {"text": "t", "url": "u"},
        none=("hash", "title", "position"),
    ),
    Shape(
        "a page number",
        lambda p: {"inhalt": p.text, "datei": p.path, "blattnr": 3 + p.index // 2},
        {"text": "inhalt", "source_path": "datei"},
        none=("position", "title", "section", "id"),
    ),
    Shape(
        "a price and a rating",
        lambda p: {"desc": p.text, "u": p.url, "preis": 5 + (p.number * 37) % 90, "sterne": 4},
        {"text": "desc", "url": "u"},
        none=("position", "title", "section", "created_at"),
    ),
    Shape(
        "a timestamp",
        lambda p: {"txt": p.text, "u": p.url, "zeit": int(p.created.timestamp())},
        {"text": "txt", "url": "u", "created_at": "zeit"},
        none=("position", "title"),
    ),
    Shape(
        "an id that counts through the collection",
        lambda p: {"txt": p.text, "u": p.url, "kennzahl": p.number},
        {"text": "txt", "url": "u"},
        none=("position", "title"),
    ),
    Shape(
        "an id that counts page by page",
        lambda p: {"txt": p.text, "u": p.url, "kennzahl": p.page * 8 + p.index},
        {"text": "txt", "url": "u"},
        none=("position", "title"),
    ),
    Shape(
        "one chunk per document",
        _one_each,
        {"text": "text", "url": "url"},
        none=("position", "section"),
    ),
    Shape(
        "lengths, levels and shares",
        lambda p: {
            "t": p.text,
            "u": p.url,
            "len": len(p.text),
            "ebene": 1 + p.index % 3,
            "teile": p.total,
            "gewicht": p.index / 8,
        },
        {"text": "t", "url": "u"},
        none=("position", "title", "section"),
    ),
    Shape(
        "labels that are not headings",
        lambda p: {
            "t": p.text,
            "u": p.url,
            "lang": "en",
            "autor": ("Ann Lee", "Bo Chen", "Cy Diaz")[p.number % 3],
            "rubrik": "Robots",
            "status": ("draft", "final")[p.number % 2],
            "version": f"{1 + p.page % 2}.{p.index % 3}",
            "tenant": "acme",
        },
        {"text": "t", "url": "u"},
        none=("position", "title", "section"),
    ),
    Shape(
        "votes",
        lambda p: {"t": p.text, "u": p.url, "stimmen": (p.number * p.number) % 23},
        {"text": "t", "url": "u"},
        none=("position",),
    ),
    Shape(
        "codes and colours",
        lambda p: {
            "t": p.text,
            "u": p.url,
            "farbe": ("Red", "Green", "Blue")[p.page % 3],
            "sku": f"AB-{p.number:04d}",
            "land": ("DE", "FR")[p.page % 2],
        },
        {"text": "t", "url": "u"},
        none=("title", "section", "position"),
    ),
)
