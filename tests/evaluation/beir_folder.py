"""A small folder in the layout of BEIR. Imported explicitly."""

import json

CORPUS = [{"_id": "d1", "title": "Hotels", "text": "The cap is 140."},
          {"_id": "q1", "title": "", "text": "Trains.\u2028Slow."},
          {"_id": "d3", "title": "Only a title", "text": " "}]
QUERIES = [{"_id": "q2", "text": "Which cap?"}, {"_id": "q1", "text": "Which train?"},
           {"_id": "q9", "text": "Nobody judged."}]
QRELS = ["q1\tq1\t1", "q2\td1\t2", "q2\td3\t0"]


def write(folder, corpus=CORPUS, queries=QUERIES, qrels=QRELS, qrels_file="qrels.tsv"):
    def lines(rows):
        return "\n".join(row if isinstance(row, str) else json.dumps(row, ensure_ascii=False) for row in rows) + "\n"

    folder.mkdir(exist_ok=True)
    for name, rows in (("corpus.jsonl", corpus), ("queries.jsonl", queries), (qrels_file, qrels)):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(lines(rows), encoding="utf-8", newline="\n")
    return folder
