"""Chapter 5: the `.env` of the team's own application lies in the same folder."""

from tour.tour import Tour

DOTENV = "DATABASE_URL=mysql://app:secret@db.example.com/shop\nDEBUG=1\nPORT=3000\n"


def a_foreign_dotenv_breaks_nothing(tour: Tour) -> None:
    dotenv = tour.home / ".env"
    dotenv.write_text(DOTENV)
    found = tour.run("search", "E04", "--top-k", "1")
    tour.expect("a search answers as before", "E04" in found.stdout, found.stdout + found.stderr)
    report = tour.run("doctor")
    said = report.stdout + report.stderr
    tour.expect("doctor reports the catalog it uses", ".surefind" in said, said)
    tour.expect("no command prints the password", "secret" not in said + found.stderr, said)
    dotenv.unlink()


def a_broken_dotenv_is_named(tour: Tour) -> None:
    dotenv = tour.home / ".env"
    dotenv.write_bytes(b"SUREFIND_PORT=ninethousand\n")
    done = tour.run("settings", expecting=2)
    place = "SUREFIND_PORT in .env"
    tour.expect("the error names the setting and its file", place in done.stderr, done.stderr)
    dotenv.unlink()
