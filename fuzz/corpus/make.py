"""Writes the seed corpus again. Needs pyarrow and XlsxWriter; run from the folder of the checkout as
`python3 fuzz/corpus/make.py PATH-OF-SCUMBLE`. All data are invented."""

import datetime, decimal, gzip, io, json, pathlib, subprocess, sys, tempfile, zipfile
import pyarrow as pa, pyarrow.ipc as ipc, pyarrow.parquet as pq
import xlsxwriter

HERE = pathlib.Path(__file__).parent
SCUMBLE = str(pathlib.Path(sys.argv[1]).resolve())
PEOPLE = "name,age,city,ill\nAnn,34,Bern,flu\nBob,36,Bern,gout\nCid,51,Thun,flu\nDee,55,Thun,asthma\nEva,38,Biel,gout\nFay,57,Thun,flu\n"
CITIES = "Bern;plain;CH\nBiel;plain;CH\nThun;lake;CH\n"
POLICY = """[attributes.name]
role = "identifier"

[attributes.age]
role = "quasi-identifier"
type = "integer"
hierarchy = { intervals = [10, 20], from = 0, to = 100 }

[attributes.city]
role = "quasi-identifier"

[attributes.ill]
role = "sensitive"

[privacy]
k = 2
"""


def put(name, content):
    (HERE / name).write_bytes(content if isinstance(content, bytes) else content.encode())


put("csv/people.csv", PEOPLE)
put("csv/quoted.csv", '\ufeffa;"b;c";d\r\n1;"x\r\ny";""\r\n"2"";";;é\r\n\r\n3;4;5')
put("csv/tabs.csv", "a\tb\n1\t2\n")
put("csv/open.csv", 'a,b\n1,"2\n')
put("csv/types.csv", "i,r,d,t\n1,1.50,2020-02-29,x\n-007,-1e3,1999-12-31,\n,,,?\n9007199254740993,.5,0001-01-01,é\n")
put("csv/extreme-numbers.csv", "x,y\n" + "".join(f"{x},{y}\n" for x in ["0", "5e-324", "1.7e308", "-1.7e308"] for y in "aabbb"))
put("csv/people.csv.gz", gzip.compress(PEOPLE.encode(), mtime=0))
put("csv/people.csv.zst", pa.compress(PEOPLE.encode(), codec="zstd", asbytes=True))
foreign = PEOPLE.replace("Biel", "Z\u00fcrich")
put("csv/windows-1252.csv", foreign.encode("cp1252"))
put("csv/utf-16le-marked.csv", foreign.encode("utf-16"))
put("csv/utf-16be.csv", foreign.encode("utf-16-be"))
put("csv/late-letter.csv", PEOPLE.encode() + b"G\xfcl,57,Thun,flu\n")
people = [line.split(",") for line in foreign.split()]
objects = [dict(zip(people[0], row)) | {"age": int(row[1])} for row in people[1:]]
put("jsonl/people.jsonl", "".join(json.dumps(row) + "\n" for row in objects))
put("jsonl/kinds.jsonl", """{"i":1,"r":1.5,"n":1.50,"b":true,"s":"a \\"b\\" \\u00e9","x":null}\r
\r
{"r":-2.25,"i":-7,"n":1e3,"b":false,"s":5}\n""")
put("jsonl/nested.jsonl", '{"a":[1,{"b":[]}],"":"nameless"}\n')
put("jsonl/twice.jsonl", '{"a":1,"a":2}\n')


def workbook(compression):
    """Six people with days, times and numbers, and a second sheet that is hidden."""
    file, packed = io.BytesIO(), io.BytesIO()
    book = xlsxwriter.Workbook(file, {"in_memory": True})
    book.set_properties({"created": datetime.datetime(2024, 1, 1)})
    sheet, day = book.add_worksheet("people"), book.add_format({"num_format": "yyyy-mm-dd"})
    for at, row in enumerate(people):
        sheet.write_row(at, 0, [int(field) if field.isdigit() else field for field in row])
        sheet.write(at, 4, "born") if at == 0 else sheet.write_datetime(at, 4, datetime.date(1980, 1, at), day)
        sheet.write(at, 5, "member") if at == 0 else sheet.write_boolean(at, 5, at % 2 == 0)
    other = book.add_worksheet("other")
    other.write(0, 0, "left out")
    other.hide()
    book.close()
    # Only the parts that are read, so that the file is small.
    names = ["[Content_Types].xml", "_rels/.rels", "xl/workbook.xml", "xl/_rels/workbook.xml.rels", "xl/styles.xml",
             "xl/sharedStrings.xml", "xl/worksheets/sheet1.xml", "xl/worksheets/sheet2.xml"]
    with zipfile.ZipFile(file) as old, zipfile.ZipFile(packed, "w", compression) as new:
        for name in names:
            new.writestr(zipfile.ZipInfo(name), old.read(name), compression)
    return packed.getvalue()


put("xlsx/people.xlsx", workbook(zipfile.ZIP_DEFLATED))
put("hierarchy/cities.csv", CITIES)
put("hierarchy/ages.csv", "".join(f"{age};{age // 10}0s;*\n" for age in range(30, 60)))
put("hierarchy/quoted.csv", '"a, b";"x;y";*\nc;"x;y";*\n')
put("policy/people.toml", POLICY)
put("policy/more.toml", """[defaults]
role = "insensitive"
missing = ["?"]

[attributes.born]
role = "quasi-identifier"
type = "date"
hierarchy = { dates = ["month", "year"] }

[attributes.zip]
role = "quasi-identifier"
hierarchy = { mask = "right", char = "*" }

[attributes.salary]
role = "sensitive"

[privacy]
k = 5
l-diversity = { kind = "recursive", l = 3, c = "2" }
t-closeness = 0.2
thresholds = { default = "1/4", HIV = "1/20" }

[search]
algorithm = "mondrian"
split = "median"
suppression = { scheme = "records", limit = 0.05 }
""")
put("policy/distribution.toml", """[attributes.zip]
role = "quasi-identifier"

[attributes.salary]
role = "sensitive"
type = "integer"

[privacy]
distribution = { attribute = "salary", target = "uniform", groups = ["zip"], fakes = "5%" }
""")

# Policies for the table of people, one for each search, so that the target gets past the columns.
AGE = '[attributes.age]\nrole = "quasi-identifier"\n'
CITY = '[attributes.city]\nrole = "quasi-identifier"\nhierarchy = { tree = [["Bern", "plain", "*"], ["Biel", "plain", "*"], ["Thun", "lake", "*"]] }\n'
ILL = '[attributes.ill]\nrole = "sensitive"\n'
REST = '[defaults]\nrole = "insensitive"\n'
for name, attributes, rest in [
    ("incognito", AGE + "hierarchy = { intervals = [5, 10] }\n" + CITY + ILL,
     '[privacy]\nl-diversity = [{ kind = "distinct", l = 2 }, { kind = "entropy", l = 1.5 }]\nt-closeness = { t = 0.9, distance = "equal" }\n'
     '[search]\nalgorithm = "incognito"\nstrategy = "bottom-up"\nloss = "dm"\nsuppression = { scheme = "records", limit = "50%" }\n'),
    ("mondrian", AGE + CITY + '[attributes.ill]\nrole = "target"\n',
     '[privacy]\nk = 2\n[search]\nalgorithm = "mondrian"\nsplit = "info-gain"\nleast-gain = 0.1\nregions = "cover"\n'),
    ("rothko", AGE + CITY + ILL,
     '[privacy]\nk = 2\nl-diversity = { kind = "recursive", l = 2, c = "3" }\n'
     '[search]\nalgorithm = "rothko-s"\nsample-tuples = 2\nfan-out = 2\nalpha = 0.1\nregions = "tight"\n'),
    ("local", AGE + CITY + ILL, '[privacy]\nk = 2\n[search]\nrecoding = "local"\ntime-limit = "1s"\n'),
    ("cuts", AGE + 'hierarchy = { intervals = [10, 20], from = 0, to = 100 }\n' + CITY + ILL,
     '[privacy]\nk = 2\nthresholds = { default = "2/3", flu = "1/2", values-known = ["HIV"] }\n[search]\nalgorithm = "l-plus-optimize"\n'
     'top = 2\nextra-generalization = true\nextra-suppression = "40%"\nsuppression = { scheme = "violating-values", token = "#" }\n'),
    ("annealing", AGE + 'hierarchy = { mask = "left", char = "_" }\n' + CITY + '[attributes.ill]\nrole = "target"\n',
     '[privacy]\nk = 2\n[search]\nalgorithm = "annealing"\nloss = "cm"\nsuppression = { scheme = "all-records", limit = 0.5 }\n'),
    ("instant", AGE + CITY + ILL,
     '[privacy]\nk = 2\n[search]\nalgorithm = "s-instant"\nspace = "subtree"\nby = "probability"\nthreshold = 0.5\nsummary-kind = "bayes"\nmax-parents = 2\n'),
    ("uniform", CITY + '[attributes.age]\nrole = "sensitive"\ntype = "integer"\n',
     '[privacy.distribution]\nattribute = "age"\ntarget = { kind = "normal", mean = 45, deviation = 9 }\ngroups = { city = 1 }\n'
     'fakes = 2\narity = 3\ndomain = [30, 60]\nrounding = "5%"\nalgorithm = "qi-sa"\n'),
    ("variance", CITY + '[attributes.age]\nrole = "sensitive"\n', '[privacy]\nvariance = { at-least = 2.5, sensitive = "age" }\nthresholds = { from-frequency = "1/2" }\n'),
]:
    put(f"policy/{name}.toml", attributes + REST + rest)
for number, sql in enumerate([
    "SELECT SUM(salary) FROM release",
    "SELECT gender, AVG(salary) FROM release WHERE age BETWEEN 30 AND 39 AND NOT gender = 'F' GROUP BY gender",
    "SELECT COUNT(*) FROM release WHERE zipcode IN ('91110', '94%') OR zipcode LIKE '9_1%' AND age <> -3.5e2",
    "SELECT MEDIAN(salary) FROM release WHERE age IS NOT NULL AND (gender ILIKE 'f' OR (age >= 1 AND age < 2))",
    # About the release of people, in which age is the attribute.
    "SELECT city, COUNT(*), SUM(age), AVG(age), MEDIAN(age) FROM release WHERE NOT city = 'Biel' AND age > 40 GROUP BY city",
    "SELECT MIN(age), MAX(age) FROM release WHERE ill IN ('flu', 'gout') OR city LIKE 'T%' AND age BETWEEN 31 AND 55",
]):
    put(f"sql/{number}.sql", sql)

table = pa.table({
    "name": ["Ann", "Bob", None, "Dee", "Eva", "Fay"],
    "age": pa.array([34, 36, 51, None, 38, 57], pa.int32()),
    "wage": pa.array([1.5, 2.0, None, -4.0, 0.0, 1e9]),
    "city": pa.array(["Bern", "Bern", "Thun", "Thun", "Biel", "Thun"]).dictionary_encode(),
    "born": pa.array([0, 1, 2, 3, None, 5], pa.date32()),
    "well": pa.array([True, None, False, True, True, False]),
})
plain = table.select(["name", "age"])
for codec in [None, "lz4", "zstd"]:
    for kind, make in [("file", ipc.new_file), ("stream", ipc.new_stream)]:
        sink = pa.BufferOutputStream()
        # A buffer that compression makes longer is stored as it is: some rows more are shorter.
        long = pa.concat_tables([table] * 20).combine_chunks().unify_dictionaries()
        with make(sink, table.schema, options=ipc.IpcWriteOptions(compression=codec)) as writer:
            writer.write_table(long if codec else table)
        put(f"arrow/{codec or 'plain'}-{kind}.arrow", sink.getvalue().to_pybytes())
for codec in ["none", "snappy", "gzip", "lz4", "zstd", "brotli"]:
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression=codec, write_statistics=False)
    put(f"parquet/{codec}.parquet", sink.getvalue().to_pybytes())

# Other types, some of them nested, one column of each.
moments = [0, 1, None, 3, 4, 5]
numbers = {f"{kind}": pa.array(moments, kind) for kind in [pa.int8(), pa.uint64(), pa.float32(), pa.date64(), pa.time32("ms"), pa.timestamp("us", "UTC")]}
numbers["decimal"] = pa.array([None if at is None else decimal.Decimal(at) / 4 for at in moments], pa.decimal128(9, 2))
texts = {f"{kind}": pa.array(["a", None, "", "é", "b", "a"], kind) for kind in [pa.large_string(), pa.string_view()]}
nested = {
    "binary": pa.array([b"a", None, b"\xff", b"", b"c", b"d"]),
    "fixed": pa.array([b"ab", None, b"cd", b"ef", b"gh", b"ij"], pa.binary(2)),
    "list": pa.array([[1, 2], None, [], [3], [None], [4]]),
    "struct": pa.array([{"x": at} for at in range(6)]),
    "null": pa.nulls(6),
}
for name, columns in [("numbers", numbers), ("texts", texts), ("nested", nested)]:
    typed = pa.table(columns)
    for kind, make in [("file", ipc.new_file), ("stream", ipc.new_stream)]:
        if (name, kind) != ("nested", "file"):
            sink = pa.BufferOutputStream()
            with make(sink, typed.schema) as writer:
                writer.write_table(typed, max_chunksize=4)
            put(f"arrow/{name}-{kind}.arrow", sink.getvalue().to_pybytes())
    sink = pa.BufferOutputStream()
    pq.write_table(typed, sink, compression="none", row_group_size=4, data_page_version="2.0", store_schema=name == "texts",
                   write_page_index=name == "texts", use_byte_stream_split=["float"] if name == "numbers" else False,
                   use_dictionary=name != "numbers")
    put(f"parquet/{name}.parquet", sink.getvalue().to_pybytes())
for encoding in ["DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY"]:
    for version in ["1.0", "2.0"]:
        sink = pa.BufferOutputStream()
        pq.write_table(plain, sink, compression="none", use_dictionary=False, data_page_version=version,
                       column_encoding={"name": encoding, "age": "DELTA_BINARY_PACKED"})
        put(f"parquet/{encoding.lower().replace('_', '-')}-v{version[0]}.parquet", sink.getvalue().to_pybytes())

with tempfile.TemporaryDirectory() as folder:
    def run(*arguments):
        subprocess.run([SCUMBLE, *arguments], cwd=folder, check=True, stdout=subprocess.DEVNULL)

    pathlib.Path(folder, "people.csv").write_text(PEOPLE)
    pathlib.Path(folder, "policy.toml").write_text(POLICY + '[search]\nregions = "cover"\n')
    for name, algorithm in [("levels", "incognito"), ("regions", "mondrian"), ("cuts", "l-plus-optimize")]:
        more = ["--scheme", "none"] if name == "cuts" else []
        run("anonymize", "people.csv", "-p", "policy.toml", "-o", "out.csv", "--algorithm", algorithm,
            "--save-recoding", str(HERE.resolve() / f"recoding/{name}.json"), *more)
    run("anonymize", "people.csv", "-p", str(HERE.resolve() / "policy/mondrian.toml"), "-o", "out.csv",
        "--save-recoding", str(HERE.resolve() / "recoding/thresholds.json"))
    for kind in ["histogram", "bayes", "sample"]:
        run("summarize", "people.csv", "-p", "policy.toml", "--kind", kind, "-o", str(HERE.resolve() / f"summary/{kind}.json"))
