"""Writes the seed corpus again. Needs pyarrow; run from the folder of the checkout as
`python3 fuzz/corpus/make.py PATH-OF-SCUMBLE`. All data are invented."""

import pathlib, subprocess, sys, tempfile
import pyarrow as pa, pyarrow.ipc as ipc, pyarrow.parquet as pq

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
for number, sql in enumerate([
    "SELECT SUM(salary) FROM release",
    "SELECT gender, AVG(salary) FROM release WHERE age BETWEEN 30 AND 39 AND NOT gender = 'F' GROUP BY gender",
    "SELECT COUNT(*) FROM release WHERE zipcode IN ('91110', '94%') OR zipcode LIKE '9_1%' AND age <> -3.5e2",
    "SELECT MEDIAN(salary) FROM release WHERE age IS NOT NULL AND (gender ILIKE 'f' OR (age >= 1 AND age < 2))",
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
            writer.write_table(long)
        put(f"arrow/{codec or 'plain'}-{kind}.arrow", sink.getvalue().to_pybytes())
for codec in ["none", "snappy", "gzip", "lz4", "zstd"]:
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression=codec, write_statistics=False)
    put(f"parquet/{codec}.parquet", sink.getvalue().to_pybytes())
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
    for kind in ["histogram", "bayes", "sample"]:
        run("summarize", "people.csv", "-p", "policy.toml", "--kind", kind, "-o", str(HERE.resolve() / f"summary/{kind}.json"))
