"""Mondrian by a Python peer on the Adult table: 7 quasi-identifiers, k=10, the release written as CSV."""

import sys

import pandas

peer, table, release = sys.argv[1:]
keys = ["age", "education", "native-country", "workclass", "marital-status", "sex", "race"]
frame = pandas.read_csv(table, sep=";")
for name in frame.columns:
    if name != "age":
        frame[name] = frame[name].astype("category")
if peer == "anonypy":
    import anonypy

    rows = anonypy.Preserver(frame, keys, "occupation").anonymize_k_anonymity(k=10)
    rows = pandas.DataFrame(rows)
else:
    import anonypyx

    asked = {"k": 10, "algorithm": "Mondrian", "feature_columns": keys, "sensitive_column": "occupation"}
    rows = anonypyx.Anonymiser(frame, generalisation_strategy="human-readable", **asked).anonymise()
rows.to_csv(release, index=False)
