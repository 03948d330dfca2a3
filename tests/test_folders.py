"""A folder of mail or of text files, one subfolder per class, is a table of texts."""

import mailbox
import re
import shlex
from email.message import EmailMessage
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from conftest import run

from bayesnb import BayesianNB, datasets, deploy, inspect, read_texts
from bayesnb.data import folders

PAGE = Path(__file__).parent.parent / "docs" / "how-to" / "text.md"


def mail(subject, text, html=None, charset="utf-8"):
    message = EmailMessage()
    message["From"], message["Subject"] = "someone@example.org", subject
    message.set_content(text, charset=charset)
    if html is not None:
        message.add_alternative(html, subtype="html")
    message.add_attachment(b"\0\1\2", maintype="application", subtype="pdf", filename="bill.pdf")
    return message


def written(folder, files):
    """Write files of text or bytes, in this order."""
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


@pytest.fixture
def posts(tmp_path):
    """The six posts as mail, three times each in other folders, with a subject."""
    texts, abusive = datasets.posts()
    rows = list(zip(texts["text"], np.where(abusive == "yes", "spam", "ham"), strict=True))
    files = {f"{label}/{k}.eml": bytes(mail("About café", text)) for k, (text, label) in enumerate(rows)}
    return written(tmp_path / "mail", files)


def test_a_mail_is_its_subject_and_its_body_whatever_its_encoding_and_form(tmp_path):
    body = "Grüße\n"
    page = "<html><head><style>p {}</style></head><p>Gr&uuml;&szlig;e <i>Ann</i>a<br>bald</p><script>x</script></html>"
    only_html = EmailMessage()
    only_html["Subject"] = "Hä"
    only_html.set_content(page, subtype="html")
    files = {
        "plain.eml": bytes(mail("Hä", body, page, "latin-1")),
        "html.eml": bytes(only_html),
        "broken.eml": b"Subject: =?utf-8?b?SMOk=?=\nContent-Type: text/plain; charset=nonsense\n\nGr\xfc\xdfe\n",
        "utf16.txt": "Hä\nGrüße".encode("utf-16"),
        "cp1252.txt": "Hä\nGrüße".encode("cp1252"),
        "headers": b"Received: by x\nSubject: H\xe4\n\nGr\xfc\xdfe",
        "sentence.txt": "From here on: nothing.\nA colon: no header.",
    }
    found = read_texts(written(tmp_path, files))
    words = {name: text.split() for name, text in found["text"].items()}
    assert found.columns.tolist() == ["text"]
    assert words.pop("html.eml") == ["Hä", "Grüße", "Anna", "bald"]
    assert words.pop("sentence.txt")[:2] == ["From", "here"]
    assert {name: (*text,) for name, text in words.items()} == dict.fromkeys(words, ("Hä", "Grüße"))


def test_the_mails_of_an_mbox_file_are_rows_of_their_own(tmp_path):
    (tmp_path / "spam").mkdir()
    for name, subjects in (("old.mbox", ["one", "two"]), ("exported", ["three"])):
        box = mailbox.mbox(tmp_path / "spam" / name)
        for subject in subjects:
            box.add(mail(subject, "text"))
        box.close()
    found = read_texts(tmp_path)
    assert found.index.tolist() == ["spam/exported", "spam/old.mbox#1", "spam/old.mbox#2"]
    assert [text.split()[0] for text in found["text"]] == ["three", "one", "two"]
    assert found["class"].tolist() == ["spam"] * 3


def test_files_without_a_text_are_named_and_the_others_are_read(tmp_path):
    files = {"a.eml": "Subject: a\n\nb\n", "empty.mbox": b"", "photo.eml": b"\0\1\xff", "scan.pdf": b"%PDF\0\0"}
    written(tmp_path, {f"ham/{name}": text for name, text in files.items()})
    said = r"3 files are left out: ham/empty.mbox \(.*\), ham/photo.eml \(no mail in it\), ham/scan.pdf \(not a text\)"
    with pytest.warns(UserWarning, match=said):
        assert read_texts(tmp_path).index.tolist() == ["ham/a.eml"]
    (tmp_path / "ham" / "a.eml").unlink()
    with pytest.raises(ValueError, match="no file holds a text"), pytest.warns(UserWarning, match="left out"):
        read_texts(tmp_path)
    (tmp_path / "none").mkdir()
    with pytest.raises(FileNotFoundError, match="empty folder"):
        read_texts(tmp_path / "none")


def test_a_folder_is_fitted_as_its_texts_in_parts_or_at_once_and_answers_name_the_files(posts, monkeypatch):
    table = read_texts(posts)
    new = table[["text"]]
    assert table.index.tolist() == sorted(table.index)
    as_told = {"text": "text"}
    clf = BayesianNB(as_told).fit(table, "class")
    expected = clf.predict_proba(new)
    assert np.array_equal(BayesianNB().fit(posts, "class").predict_proba(new), expected)
    monkeypatch.setattr(folders, "AT_ONCE", 2)
    in_parts = BayesianNB(as_told).fit(str(posts), "class")
    np.testing.assert_allclose(in_parts.predict_proba(new), expected, rtol=1e-12)
    predicted = pd.concat(deploy.predict_table(clf, posts))
    assert predicted.index.equals(table.index)
    assert clf.loo(new, table["class"]).index.equals(table.index)
    deploy.write_predictions(clf, posts, posts.parent / "out.parquet")
    assert pd.read_parquet(posts.parent / "out.parquet")["file"].tolist() == table.index.tolist()
    assert "a bag of words" in str(inspect(table, "class"))


def test_a_folder_of_csv_files_stays_a_table(tmp_path):
    parts = {f"{year}/part.txt": f"x,y\n{year}.5,a\n1.5,b\n" for year in (2023, 2024)}
    clf = BayesianNB().fit(written(tmp_path / "years", parts), "y")
    assert clf.class_count_.tolist() == [2, 2]


def test_the_commands_for_your_own_mail_run(posts, tmp_path, monkeypatch, capsys):
    new = {"1.eml": "Subject: silly\n\nyou silly clown\n", "2.eml": "Subject: good post\n\nthank you\n"}
    written(tmp_path / "new", new)
    monkeypatch.chdir(tmp_path)
    commands = re.findall(r"^\$ bayesnb (.+)$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert [command.split()[0] for command in commands] == ["inspect", "fit", "predict", "explain"]
    said = {}
    for command in commands:
        code, said[command.split()[0]], err = run(capsys, *shlex.split(command))
        assert code == 0, err
    assert said["inspect"].splitlines()[-1].startswith("bayesnb fit mail --target class")
    assert [line.split(",")[:2] for line in said["predict"].splitlines()[1:]] == [["1.eml", "spam"], ["2.eml", "ham"]]


def test_a_folder_of_text_files_without_classes_is_read_for_a_model_of_texts(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    texts = {"ham/1.txt": "see you at lunch", "ham/2.txt": "lunch with you then", "spam/1.txt": "win your prize now"}
    written(tmp_path / "notes", {**texts, "spam/2.txt": "your prize is waiting now"})
    assert run(capsys, "fit", "notes", "--dependence", "none", "-o", "notes.bayesnb")[0] == 0
    for new in ({"a.txt": "lunch, you"}, {"a.txt": "lunch, you", "b.txt": "prize now"}):
        code, out, _ = run(capsys, "predict", "notes.bayesnb", written(tmp_path / f"new{len(new)}", new))
        assert code == 0
        assert [line.split(",")[:2] for line in out.splitlines()[1:]] == [["a.txt", "ham"], ["b.txt", "spam"]][
            : len(new)
        ]
