"""Files as DuckDB, polars, pandas, pyarrow, openpyxl and XlsxWriter write them, read by `scumble`.

Every file has the same people with columns of many types. They are released unchanged to CSV, to their own format and to
JSON lines, generalized, and verified; what comes out is compared with what went in. Columns that have no text are dropped as
identifiers, and refused by name in any other role.

    python read.py PATH/OF/scumble
"""

import datetime as dt
import decimal
import json
import pathlib
import subprocess
import sys
import tempfile
import zoneinfo

import duckdb
import openpyxl
import pandas
import polars
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import xlsxwriter

SCUMBLE = str(pathlib.Path(sys.argv[1]).resolve())
FOLDER = pathlib.Path(tempfile.mkdtemp(prefix="scumble-files-"))
ROWS = 6
checks = 0


def run(*arguments, status=0):
    global checks
    checks += 1
    done = subprocess.run([SCUMBLE, *map(str, arguments)], cwd=FOLDER, capture_output=True, text=True)
    told = f"{' '.join(map(str, arguments))}: {done.returncode}\n{done.stdout}{done.stderr}"
    assert done.returncode == status, told
    return done


def policy(name, roles, default, k=1):
    lines = [f"[attributes.{json.dumps(column)}]\nrole = \"{role}\"" for column, role in roles.items()]
    lines += [f"[defaults]\nrole = \"{default}\"", f"[privacy]\nk = {k}", "[search]\nrecoding = \"regions\""]
    (FOLDER / name).write_text("\n".join(lines) + "\n")
    return name


def texts(name):
    """The columns of a CSV file, as Python's reader has them."""
    import csv

    with open(FOLDER / name, newline="", encoding="utf-8") as file:
        records = list(csv.reader(file))
    return {column: sorted(values) for column, values in zip(records[0], zip(*records[1:]))}


def check(file, expected, nested=()):
    """Releases a file: unchanged to CSV, then with every column generalized, in its own format."""
    dropped = {column: "identifier" for column in nested}
    first = next(iter(expected))
    copy = policy("copy.toml", {**dropped, first: "quasi-identifier"}, "insensitive")
    run("anonymize", file, "--policy", copy, "-o", "copy.csv", "--levels", f"{first}=0")
    found = texts("copy.csv")
    assert list(found) == list(expected), (file, list(found), list(expected))
    for column, values in expected.items():
        assert found[column] == sorted(values), (file, column, found[column], sorted(values))
    keys = policy("keys.toml", dropped, "quasi-identifier", k=2)
    ending = file.split(".", 1)[1] if not file.endswith("xlsx") else "csv"
    for output in [f"release.{ending}", "release.jsonl", "release.parquet"]:
        run("anonymize", file, "--policy", keys, "-o", output)
        released = policy("released.toml", {}, "quasi-identifier", k=2)
        run("verify", output, "--policy", released)
    for column in nested:
        for role in ["quasi-identifier", "sensitive"]:
            wrong = policy("wrong.toml", {**dropped, column: role, first: "quasi-identifier"}, "insensitive")
            told = run("anonymize", file, "--policy", wrong, "-o", "wrong.csv", status=2).stderr
            assert column in told and "identifier" in told, told


def spread(values):
    """Every value twice and more: classes of two are possible."""
    return [values[row % len(values)] for row in range(ROWS)]


BERLIN = zoneinfo.ZoneInfo("Europe/Berlin")
MOMENTS = [dt.datetime(2024, 1, 31, 23, 30, 0), dt.datetime(2024, 7, 1, 6, 5, 4)]
DAYS = [dt.date(1980, 12, 31), dt.date(2024, 2, 29)]


def arrow_columns():
    """Columns with their texts; `None` for a column that has none."""
    columns = {}

    def add(name, array, told):
        columns[name] = (array, told)

    whole = spread([1, -7])
    for kind in [pa.int8(), pa.int16(), pa.int32(), pa.int64()]:
        add(str(kind), pa.array(whole, kind), [str(number) for number in whole])
    for kind in [pa.uint8(), pa.uint64()]:
        add(str(kind), pa.array(spread([1, 200]), kind), [str(number) for number in spread([1, 200])])
    for kind in [pa.float32(), pa.float64()]:
        add(str(kind), pa.array(spread([1.5, -0.25]), kind), spread(["1.5", "-0.25"]))
    add("bool", pa.array(spread([True, False])), spread(["true", "false"]))
    words = spread(["Zürich", "a, \"b\""])
    for kind in [pa.string(), pa.large_string(), pa.string_view()]:
        add(str(kind), pa.array(words, kind), words)
    add("dictionary", pa.array(words).dictionary_encode(), words)
    add("day", pa.array(spread(DAYS)), [str(day) for day in spread(DAYS)])
    for unit in ["s", "ms", "us", "ns"]:
        moments = pa.array(spread(MOMENTS), pa.timestamp(unit))
        add(f"timestamp {unit}", moments, [moment.isoformat() for moment in spread(MOMENTS)])
    aware = [moment.replace(tzinfo=dt.timezone.utc) for moment in spread(MOMENTS)]
    # As text, a moment is what clocks show in the zone of its column.
    for name, zone, zoned in [
        ("berlin", "Europe/Berlin", BERLIN),
        ("utc", "UTC", dt.timezone.utc),
        ("offset", "+02:00", dt.timezone(dt.timedelta(hours=2))),
    ]:
        told = [moment.astimezone(zoned).isoformat()[:19] for moment in aware]
        add(name, pa.array(aware, pa.timestamp("us", zone)), told)
    clock = spread([dt.time(6, 5, 4), dt.time(23, 30)])
    for kind in [pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.time64("ns")]:
        add(str(kind), pa.array(clock, kind), [str(time) for time in clock])
    money = spread([decimal.Decimal("12.50"), decimal.Decimal("-3.00")])
    for kind in [pa.decimal32(7, 2), pa.decimal64(12, 2), pa.decimal128(20, 2), pa.decimal256(50, 2)]:
        add(str(kind).split("(")[0], pa.array(money, kind), [str(amount) for amount in money])
    some = spread(["x", None])
    add("some", pa.array(some), [text or "" for text in some])
    add("nothing", pa.nulls(ROWS, pa.string()), [""] * ROWS)
    add("runs", pa.RunEndEncodedArray.from_arrays(pa.array([2, ROWS], pa.int32()), pa.array(["r", "s"])),
        ["r"] * 2 + ["s"] * (ROWS - 2))
    add("list", pa.array(spread([[1], [2, 3]])), None)
    add("struct", pa.array(spread([{"a": 1}, {"a": 2}])), None)
    add("map", pa.array(spread([[("a", 1)], []]), pa.map_(pa.string(), pa.int64())), None)
    add("bytes", pa.array(spread([b"\xff\x00", b"\xfe"])), None)
    return columns


def table(columns, without=()):
    chosen = {name: array for name, (array, _) in columns.items() if name not in without}
    told = {name: columns[name][1] for name in chosen if columns[name][1] is not None}
    return pa.table(chosen), told, [name for name in chosen if columns[name][1] is None]


def by_pyarrow():
    columns = arrow_columns()
    whole, told, nested = table(columns)
    with pa.ipc.new_file(FOLDER / "file.arrow", whole.schema) as writer:
        writer.write_table(whole)
    check("file.arrow", told, nested)
    with pa.ipc.new_stream(FOLDER / "stream.arrow", whole.schema) as writer:
        writer.write_table(whole)
    check("stream.arrow", told, nested)
    # Parquet has no runs.
    whole, told, nested = table(columns, without=["runs"])
    for codec in ["none", "snappy", "gzip", "brotli", "zstd", "lz4"]:
        pq.write_table(whole, FOLDER / f"{codec}.parquet", compression=codec)
        check(f"{codec}.parquet", told, nested)
    # As old versions of Spark do.
    whole, told, nested = table({name: columns[name] for name in ["int32", "timestamp us", "string"]})
    pq.write_table(whole, FOLDER / "int96.parquet", use_deprecated_int96_timestamps=True)
    check("int96.parquet", told, nested)


def by_others():
    columns = arrow_columns()
    few = ["int64", "double", "bool", "string", "day", "timestamp us", "berlin", "time64[us]", "decimal128", "some", "list", "struct"]
    whole, told, nested = table({name: columns[name] for name in few})
    frame = polars.from_arrow(whole)
    frame.write_parquet(FOLDER / "polars.parquet")
    # polars keeps nanoseconds of a time, and few other types.
    check("polars.parquet", told, nested)
    frame.write_ipc(FOLDER / "polars.arrow")
    check("polars.arrow", told, nested)
    duck = duckdb.connect()
    duck.execute("set timezone = 'UTC'")
    duck.register("people", whole.drop_columns(["berlin"]))
    del told["berlin"]
    for codec in ["snappy", "zstd", "brotli"]:
        duck.execute(f"copy people to '{FOLDER}/duck-{codec}.parquet' (format parquet, compression {codec})")
        check(f"duck-{codec}.parquet", told, nested)
    plain, told, nested = table({name: columns[name] for name in ["int64", "string", "timestamp us", "some", "bool"]})
    plain.to_pandas().to_parquet(FOLDER / "pandas.parquet")
    check("pandas.parquet", told, nested)


def json_lines():
    columns = arrow_columns()
    few = ["int64", "double", "bool", "string", "some", "list", "struct"]
    whole, told, nested = table({name: columns[name] for name in few})
    polars.from_arrow(whole).write_ndjson(FOLDER / "polars.jsonl")
    duck = duckdb.connect()
    duck.register("people", whole)
    duck.execute(f"copy people to '{FOLDER}/duck.ndjson' (format json)")
    whole.to_pandas().to_json(FOLDER / "pandas.jsonl", orient="records", lines=True)
    for name in ["polars.jsonl", "duck.ndjson", "pandas.jsonl"]:
        check(name, told, nested)
    # What comes out is read back by others, with the same types.
    copy = policy("copy.toml", {"int64": "insensitive", "string": "quasi-identifier", "list": "identifier", "struct": "identifier"}, "insensitive")
    run("anonymize", "polars.jsonl", "--policy", copy, "-o", "out.jsonl", "--levels", "string=0")
    back = polars.read_ndjson(FOLDER / "out.jsonl")
    assert sorted(back["int64"].to_list()) == sorted(spread([1, -7])), back
    assert sorted(back["double"].to_list()) == sorted(spread([1.5, -0.25])), back
    assert sorted(back["bool"].to_list()) == sorted(spread([True, False])), back
    found = duck.sql(f"select sum(int64), count(\"some\") from read_json('{FOLDER}/out.jsonl')").fetchall()[0]
    assert found == (sum(spread([1, -7])), ROWS // 2), found


def workbooks():
    rows = [
        ["name", "born", "seen", "hour", "weight", "member", "note"],
        ["Ann", DAYS[0], MOMENTS[0], dt.time(6, 30), 61.5, True, "a, \"b\"\nc"],
        ["Bob", DAYS[1], MOMENTS[1], dt.time(6, 30), 80, False, None],
    ]
    rows += [row[:] for row in rows[1:]] + [row[:] for row in rows[1:]]
    days = [str(day) for day in spread(DAYS)]
    told = {
        "name": spread(["Ann", "Bob"]),
        "born": days,
        "seen": [str(moment) for moment in spread(MOMENTS)],
        "hour": ["06:30:00"] * ROWS,
        "weight": spread(["61.5", "80"]),
        "member": spread(["true", "false"]),
        "note": spread(["a, \"b\"\nc", ""]),
    }
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    book.save(FOLDER / "openpyxl.xlsx")
    for memory in [False, True]:
        name = f"xlsxwriter-{memory}.xlsx"
        book = xlsxwriter.Workbook(FOLDER / name, {"constant_memory": memory, "default_date_format": "dd.mm.yyyy"})
        sheet = book.add_worksheet("people")
        moment, time = book.add_format({"num_format": "yyyy-mm-dd hh:mm:ss"}), book.add_format({"num_format": "hh:mm"})
        for at, row in enumerate(rows):
            for column, value in enumerate(row):
                if isinstance(value, dt.datetime):
                    sheet.write_datetime(at, column, value, moment)
                elif isinstance(value, dt.time):
                    sheet.write_datetime(at, column, value, time)
                else:
                    sheet.write(at, column, value)
        book.add_worksheet("empty")
        book.close()
        check(name, told)
    check("openpyxl.xlsx", told)
    pandas.DataFrame({"day": days, "x": spread([1, 2])}).to_excel(FOLDER / "pandas.xlsx", index=False)
    check("pandas.xlsx", {"day": days, "x": spread(["1", "2"])})


def main():
    for step in [by_pyarrow, by_others, json_lines, workbooks]:
        step()
    for path in sorted(FOLDER.rglob("*"), reverse=True):
        path.unlink()
    FOLDER.rmdir()
    print(f"{checks} commands on files of DuckDB, polars, pandas, pyarrow, openpyxl and XlsxWriter")


main()
