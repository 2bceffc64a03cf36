"""Short manuals in many languages, and questions that use other forms of their words.

Each manual has the same six passages: installing, passwords, backups, files, users, settings. A
question names the passage that answers it.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from surefind.adapters.qdrant.edge import Bm25Analyzer
from surefind.model import SparseVector
from surefind.services.encoding.bm25 import Bm25Encoder


class Manual(NamedTuple):
    passages: tuple[str, ...]
    questions: tuple[tuple[str, int], ...]


MANUALS: Mapping[str, Manual] = {
    "de": Manual(
        (
            "Die Installation dauert wenige Minuten. Laden Sie das Paket herunter und starten Sie "
            "den Rechner neu.",
            "Ein vergessenes Passwort wird auf der Anmeldeseite zurückgesetzt. Der Schlüssel kommt "
            "per Post.",
            "Jede Sicherung liegt auf einem zweiten Laufwerk. Eine Wiederherstellung löscht neuere "
            "Daten.",
            "Eine Datei darf höchstens ein Gigabyte groß sein. Das Bild eines Hauses wird "
            "verkleinert.",
            "Der Verwalter legt ein Konto für jeden Benutzer an und vergibt eine Rolle.",
            "Die Einstellung der Sprache ändert das Menü, nicht aber die Größe der Schrift.",
        ),
        (
            ("Passwörter zurücksetzen", 1),
            ("verlorene Schlüsseln", 1),
            ("Sicherungen auf Laufwerken", 2),
            ("Daten wiederherstellen nach Löschung", 2),
            ("wie groß dürfen Dateien sein", 3),
            ("Bilder von Häusern", 3),
            ("Konten der Benutzerinnen und Rollen", 4),
            ("Sprachen und Einstellungen", 5),
            ("Schriftgrösse in Menüs andern", 5),
        ),
    ),
    "fr": Manual(
        (
            "L'installation du logiciel prend quelques minutes. Téléchargez l'archive puis "
            "redémarrez la machine.",
            "Un mot de passe oublié se réinitialise depuis la page de connexion. La clé arrive par "
            "courrier.",
            "Chaque sauvegarde est conservée sur un second disque. La restauration efface les "
            "données récentes.",
            "Un fichier ne dépasse pas un gigaoctet. L'image d'un cheval est réduite.",
            "L'administrateur crée un compte pour chaque utilisateur et attribue un rôle.",
            "Le réglage de la langue modifie le menu, mais pas la taille des caractères.",
        ),
        (
            ("installer des logiciels", 0),
            ("réinitialiser les clés oubliées", 1),
            ("sauvegardes sur des disques", 2),
            ("restaurer une donnee effacée", 2),
            ("réduire les images", 3),
            ("taille des fichiers en gigaoctets", 3),
            ("comptes des utilisatrices", 4),
            ("modifier les langues dans les menus", 5),
            ("reglages", 5),
        ),
    ),
    "es": Manual(
        (
            "La instalación tarda unos minutos. Descargue el paquete y reinicie el ordenador.",
            "Una contraseña olvidada se restablece en la página de acceso. La clave llega por "
            "correo.",
            "Cada copia de seguridad se guarda en un segundo disco. La restauración borra los "
            "datos recientes.",
            "Un archivo no puede superar un gigabyte. La imagen de un caballo se reduce.",
            "El administrador crea una cuenta para cada usuario y asigna un papel.",
            "El ajuste del idioma cambia el menú, pero no el tamaño de la letra.",
        ),
        (
            ("instalaciones", 0),
            ("cómo instalar los paquetes", 0),
            ("instalacion", 0),
            ("contraseñas olvidadas", 1),
            ("guardar copias en discos", 2),
            ("restaurar un dato borrado", 2),
            ("reducir imágenes", 3),
            ("las cuentas de usuarias", 4),
            ("cambiar idiomas en los menús", 5),
        ),
    ),
    "it": Manual(
        (
            "L'installazione richiede pochi minuti. Scaricate il pacchetto e riavviate il "
            "computer.",
            "Una password dimenticata si reimposta nella pagina di accesso. La chiave arriva per "
            "posta.",
            "Ogni copia viene conservata su un secondo disco. Il ripristino cancella i dati "
            "recenti.",
            "Un documento non può superare un gigabyte. L'immagine di un cavallo viene ridotta.",
            "L'amministratore crea un profilo per ciascun utente e assegna un ruolo.",
            "L'impostazione della lingua cambia il menu, ma non la dimensione dei caratteri.",
        ),
        (
            ("installare i pacchetti", 0),
            ("chiavi dimenticate", 1),
            ("conservare le copie sui dischi", 2),
            ("cancellazione di un dato", 2),
            ("immagini ridotte", 3),
            ("documenti", 3),
            ("profili degli utenti e ruoli", 4),
            ("cambiare le lingue", 5),
        ),
    ),
    "ru": Manual(
        (
            "Установка занимает несколько минут. Скачайте пакет и перезапустите компьютер.",
            "Забытый пароль сбрасывается на странице входа. Ключ приходит письмом.",
            "Каждая резервная копия хранится на втором диске. Её восстановление удаляет новые "
            "данные.",
            "Размер файла не превышает одного гигабайта. Изображение лошади уменьшается.",
            "Администратор создаёт учётную запись для каждого пользователя и назначает роль.",
            "Настройка языка меняет меню, но не шрифт.",
        ),
        (
            ("установки пакетов", 0),
            ("сбросить забытые пароли", 1),
            ("ключи в письмах", 1),
            ("хранение резервных копий на дисках", 2),
            ("размеры файлов", 3),
            ("изображения лошадей", 3),
            ("учетные записи пользователей", 4),
            ("настройки языков и шрифтов", 5),
        ),
    ),
    "tr": Manual(
        (
            "Kurulum birkaç dakika sürer. Paketi indirin ve bilgisayarı yeniden başlatın.",
            "Unutulan parola giriş sayfasında sıfırlanır. Anahtar postayla gelir.",
            "Her yedek ikinci bir diskte saklanır. Geri yükleme yeni verileri siler.",
            "Bir dosya en fazla bir gigabayt olabilir. Atın resmi küçültülür.",
            "Yönetici her kullanıcı için bir hesap açar ve bir rol verir.",
            "Dil ayarı menüyü değiştirir, yazının boyutunu değiştirmez.",
        ),
        (
            ("kurulumlar", 0),
            ("paketler", 0),
            ("parolalar", 1),
            ("anahtarlar", 1),
            ("yedekler diskler", 2),
            ("dosyalar", 3),
            ("resimler", 3),
            ("kullanıcıların hesapları", 4),
            ("ayarlar", 5),
        ),
    ),
    "ar": Manual(
        (
            "يستغرق التثبيت بضع دقائق. نزّل الحزمة ثم أعد تشغيل الحاسوب.",
            "تعاد كلمة المرور المنسية من صفحة الدخول. يصل المفتاح بالبريد.",
            "تحفظ كل نسخة احتياطية على قرص ثان. الاستعادة تحذف البيانات الحديثة.",
            "لا يتجاوز حجم الملف غيغابايت واحدا. تصغر صورة الحصان.",
            "ينشئ المدير حسابا لكل مستخدم ويمنحه صلاحية.",
            "يغير إعداد اللغة القائمة ولا يغير الخط.",
        ),
        (
            ("تثبيت حزمة", 0),
            ("مفتاح", 1),
            ("النسخة الاحتياطية والقرص", 2),
            ("بيانات", 2),
            ("ملفات", 3),
            ("الصورة", 3),
            ("المستخدمين", 4),
            ("الحساب والصلاحيات", 4),
            ("لغة القائمة", 5),
            ("إعدادات اللغات", 5),
        ),
    ),
    "fa": Manual(
        (
            "نصب برنامه چند دقیقه طول می‌کشد. بسته را بارگیری کنید و رایانه را راه‌اندازی کنید.",
            "گذرواژه فراموش شده در صفحه ورود بازنشانی می‌شود. کلید با نامه می‌رسد.",
            "هر پشتیبان روی دیسک دوم نگهداری می‌شود. بازیابی داده تازه را پاک می‌کند.",
            "هر پرونده حداکثر یک گیگابایت است. تصویر اسب کوچک می‌شود.",
            "مدیر برای هر کاربر یک حساب می‌سازد و یک نقش می‌دهد.",
            "تنظیم زبان فهرست را تغییر می‌دهد ولی قلم را تغییر نمی‌دهد.",
        ),
        (
            ("برنامه‌ها", 0),
            ("بسته‌های برنامه", 0),
            ("كليد", 1),
            ("پشتيبان‌ها روی ديسك‌ها", 2),
            ("تصویرهای اسب‌ها", 3),
            ("پرونده‌های بزرگ", 3),
            ("کاربران و حساب‌ها", 4),
            ("تنظیمات زبان‌ها", 5),
        ),
    ),
    "ur": Manual(
        (
            "تنصیب میں چند منٹ لگتے ہیں۔ پیکج اتاریں اور کمپیوٹر دوبارہ چلائیں۔",
            "بھولا ہوا پاس ورڈ داخلے کے صفحے پر بدلا جاتا ہے۔ چابی ڈاک سے آتی ہے۔",
            "ہر نقل دوسری ڈسک پر رکھی جاتی ہے۔ بحالی سے نئی معلومات مٹ جاتی ہیں۔",
            "ہر فائل زیادہ سے زیادہ ایک گیگابائٹ کی ہو سکتی ہے۔ گھوڑے کی تصویر چھوٹی کی جاتی ہے۔",
            "منتظم ہر صارف کا کھاتہ بناتا ہے اور کتاب دیتا ہے۔",
            "زبان کی ترتیب سے فہرست بدلتی ہے مگر خط نہیں بدلتا۔",
        ),
        (
            ("کمپیوٹروں میں تنصیب", 0),
            ("چابیاں", 1),
            ("ڈسکوں پر نقلیں", 2),
            ("فائلیں", 3),
            ("فائلوں کی تصویریں", 3),
            ("گھوڑا", 3),
            ("صارفین کی كتابيں", 4),
            ("کتابوں", 4),
            ("زبانوں کی ترتیبات", 5),
        ),
    ),
    "hi": Manual(
        (
            "स्थापना में कुछ मिनट लगते हैं। पैकेज डाउनलोड करें और कंप्यूटर फिर से चालू करें।",
            "भूला हुआ पासवर्ड प्रवेश पृष्ठ पर बदला जाता है। कुंजी डाक से आती है।",
            "हर प्रतिलिपि दूसरी डिस्क पर रखी जाती है। बहाली नया डेटा मिटाती है।",
            "एक फ़ाइल अधिकतम एक गीगाबाइट की हो सकती है। घोड़े का चित्र छोटा किया जाता है।",
            "प्रबंधक हर उपयोगकर्ता का खाता बनाता है और भूमिका देता है।",
            "भाषा की सेटिंग से सूची बदलती है, लिपि नहीं।",
        ),
        (
            ("पैकेज की स्थापना", 0),
            ("पासवर्ड", 1),
            ("कुंजी", 1),
            ("प्रतिलिपि और डिस्क", 2),
            ("फ़ाइल का चित्र", 3),
            ("उपयोगकर्ता का खाता", 4),
            ("भाषा और लिपि", 5),
        ),
    ),
    "zh": Manual(
        (
            "安装程序需要几分钟。请下载Linux软件包，然后重新启动计算机。",
            "忘记的密码可以在登录页面重置。密钥通过邮件发送。",
            "每个备份都保存在第二块硬盘上。恢复操作会删除最新数据。",
            "文件大小不得超过一个GB。马的图片会被缩小。",
            "管理员为每个用户创建账户并分配角色。",
            "语言设置会改变菜单，但不会改变字体。",
        ),
        (
            ("如何安装软件包", 0),
            ("Linux", 0),
            ("重置密码", 1),
            ("备份保存在哪里", 2),
            ("恢复数据", 2),
            ("马", 3),
            ("文件大小", 3),
            ("创建用户账户", 4),
            ("菜单字体", 5),
        ),
    ),
    "ja": Manual(
        (
            "インストールには数分かかります。Linux用のパッケージを取得して、再起動してください。",
            "忘れたパスワードはログイン画面で再設定できます。鍵は郵便で届きます。",
            "バックアップは二台目のディスクに保存されます。復元すると新しいデータは消えます。",
            "ファイルは最大1ギガバイトです。馬の画像は縮小されます。",
            "管理者は利用者ごとに口座を作成し、役割を割り当てます。",
            "言語を設定するとメニューが変わりますが、書体は変わりません。",
        ),
        (
            ("パッケージをインストールする方法", 0),
            ("Linux", 0),
            ("パスワードの再設定", 1),
            ("鍵", 1),
            ("バックアップの保存先", 2),
            ("データを復元したい", 2),
            ("馬", 3),
            ("ﾌｧｲﾙの画像", 3),
            ("利用者の役割", 4),
            ("言語の設定", 5),
        ),
    ),
    "ko": Manual(
        (
            "설치는 몇 분 걸립니다. Linux용 패키지를 내려받고 컴퓨터를 다시 시작하십시오.",
            "잊어버린 비밀번호는 로그인 화면에서 재설정합니다. 열쇠는 우편으로 옵니다.",
            "모든 백업은 두 번째 디스크에 보관됩니다. 복원하면 새로운 데이터가 사라집니다.",
            "파일은 최대 1기가바이트입니다. 말의 그림은 축소됩니다.",
            "관리자는 사용자마다 계정을 만들고 역할을 부여합니다.",
            "언어를 설정하면 메뉴가 바뀌지만 글꼴은 바뀌지 않습니다.",
        ),
        (
            ("패키지 설치", 0),
            ("Linux", 0),
            ("비밀번호를 재설정", 1),
            ("백업이 보관되는 디스크", 2),
            ("데이터 복원", 2),
            ("그림을 축소", 3),
            ("사용자의 계정", 4),
            ("글꼴과 메뉴", 5),
        ),
    ),
    "th": Manual(
        (
            "การติดตั้งใช้เวลาไม่กี่นาที ดาวน์โหลดโปรแกรมแล้วเริ่มเครื่องใหม่",
            "รหัสผ่านที่ลืมตั้งใหม่ได้ที่หน้าเข้าสู่ระบบ กุญแจจะส่งทางไปรษณีย์",
            "ข้อมูลสำรองเก็บไว้ในดิสก์ที่สอง การกู้คืนจะลบข้อมูลล่าสุด",
            "ไฟล์มีขนาดไม่เกินหนึ่งกิกะไบต์ รูปม้าจะถูกย่อ",
            "ผู้ดูแลสร้างบัญชีให้ผู้ใช้แต่ละคนและกำหนดบทบาท",
            "การตั้งค่าภาษาจะเปลี่ยนเมนู แต่ไม่เปลี่ยนแบบอักษร",
        ),
        (
            ("ติดตั้งโปรแกรม", 0),
            ("ลืมรหัสผ่าน", 1),
            ("กู้คืนข้อมูลสำรอง", 2),
            ("ขนาดไฟล์", 3),
            ("บัญชีผู้ใช้", 4),
            ("ตั้งค่าภาษา", 5),
            ("แบบอักษร", 5),
        ),
    ),
    "sv": Manual(
        (
            "Installationen tar några minuter. Ladda ner paketet och starta om datorn.",
            "Ett glömt lösenord återställs på inloggningssidan. Nyckeln kommer med posten.",
            "Varje säkerhetskopia lagras på en annan disk. Återställningen raderar nya uppgifter.",
            "En fil får vara högst en gigabyte. Bilden av en häst förminskas.",
            "Administratören skapar ett konto för varje användare och delar ut en roll.",
            "Inställningen av språket ändrar menyn men inte typsnittet.",
        ),
        (
            ("installera paket", 0),
            ("glömda nycklar", 1),
            ("säkerhetskopior på diskar", 2),
            ("radera uppgiften", 2),
            ("filer och bilder av hästar", 3),
            ("användarens konton", 4),
            ("ändra typsnitt i menyer", 5),
        ),
    ),
}

ENCODER = Bm25Encoder(Bm25Analyzer())


def measured(manual: Manual, language: str) -> tuple[float, float]:
    """The share of questions whose passage is found at all, and the mean reciprocal rank."""
    mean = sum(ENCODER.length(one, language) for one in manual.passages) / len(manual.passages)
    stored = [ENCODER.passage(one, mean, language) for one in manual.passages]
    ranks = [
        rank_of(ENCODER.query(question, (language,)), stored, wanted)
        for question, wanted in manual.questions
    ]
    found = [rank for rank in ranks if rank]
    return len(found) / len(ranks), sum(1 / rank for rank in found) / len(ranks)


def rank_of(query: SparseVector, stored: Sequence[SparseVector], wanted: int) -> int:
    """The rank of a passage by BM25, behind those with an equal score; 0 without a match."""
    weights = dict(zip(query.ids, query.weights, strict=True))
    scores = []
    for passage in stored:
        kept = zip(passage.ids, passage.weights, strict=True)
        scores.append(
            sum(
                weights[term] * weight * _idf(term, stored)
                for term, weight in kept
                if term in weights
            )
        )
    return sum(score >= scores[wanted] for score in scores) if scores[wanted] else 0


def _idf(term: int, stored: Sequence[SparseVector]) -> float:
    holding = sum(term in passage.ids for passage in stored)
    return 1 / holding
