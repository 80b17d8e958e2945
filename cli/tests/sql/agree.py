"""Do databases and `scumble query` give the same bounds?

A random table is released as a distribution; its folder is loaded with its own load scripts, its own queries are run as they stand and
with random conditions on the records and on the sensitive attribute, and every answer must be what `scumble query` says. SQLite runs
through apsw's shell, which knows the dot commands of the load script, or through Python's own module; DuckDB through its package. apsw and
duckdb come from PyPI; PostgreSQL is tried where a server is named by PGDATABASE.
"""

import csv
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile

SCUMBLE = os.path.abspath(sys.argv[1])

POLICY = """
[attributes.name]
role = "identifier"
[attributes.age]
role = "quasi-identifier"
type = "integer"
[attributes.city]
role = "quasi-identifier"
[attributes.joined]
role = "quasi-identifier"
[attributes.share]
role = "quasi-identifier"
[attributes.pay]
role = "sensitive"
{more}
[privacy.distribution]
attribute = "pay"
target = "{target}"
groups = ["city"]
fakes = "10%"
algorithm = "{algorithm}"
"""

DISEASES = """flu;cold;any
cough;cold;any
O'Hara's;rare;any
"gout, acute";rare;any
mumps;rare;any
"""

CITIES = ["Bern", "Thun", "Visp, \"am\" Berg", "O'Fallon", ""]


def table(seed, kind):
    draw = random.Random(seed)
    rows = ["name,age,city,joined,share,pay"]
    for person in range(400):
        age = draw.choice([str(draw.randint(17, 79)), str(draw.randint(17, 79)), ""])
        city = '"' + draw.choice(CITIES).replace('"', '""') + '"'
        joined = f"20{draw.randint(10, 24)}-0{draw.randint(1, 9)}-1{draw.randint(0, 9)}"
        pay = draw.randint(-3, 20) * 125
        if kind == "decimals":
            pay = f"{pay / 100:.2f}"
        elif kind == "runs":
            pay = draw.randint(0, 5000) - 300
        elif kind == "categories":
            pay = draw.choice(["flu", "flu", "cough", "O'Hara's", '"gout, acute"', "mumps"])
        rows.append(f"p{person},{age},{city},{joined},{draw.randint(0, 8) / 4},{pay}")
    return "\n".join(rows) + "\n"


def compound(draw, simple, depth):
    if depth == 0 or draw.random() < 0.3:
        return draw.choice(simple)()
    one, other = compound(draw, simple, depth - 1), compound(draw, simple, depth - 1)
    return draw.choice([f"({one} AND {other})", f"({one} OR {other})", f"NOT ({one})"])


def conditions(seed):
    draw = random.Random(seed)
    simple = [
        lambda: f"age {draw.choice(['=', '<>', '<', '<=', '>', '>='])} {draw.randint(17, 79)}",
        lambda: f"age BETWEEN {draw.randint(17, 40)} AND {draw.randint(41, 79)}",
        lambda: f"age NOT BETWEEN {draw.randint(17, 40)} AND {draw.randint(41, 79)}",
        lambda: f"age {draw.choice(['IN', 'NOT IN'])} ({draw.randint(17, 79)}, {draw.randint(17, 79)}, 40)",
        lambda: f"city {draw.choice(['LIKE', 'NOT LIKE'])} '%{draw.choice(['n', 'Be', '_', 'h%n', 'zz'])}%'",
        lambda: f"city {draw.choice(['=', '<>', '<', '>='])} '{draw.choice(CITIES[:4]).replace(chr(39), chr(39) * 2)}'",
        lambda: f"city IS {draw.choice(['NULL', 'NOT NULL'])}",
        lambda: f"joined {draw.choice(['<', '>='])} '2017-05-12'",
        lambda: f"share {draw.choice(['<', '>=', '='])} {draw.randint(0, 8) / 4}",
    ]
    return ["1 = 1"] + [compound(draw, simple, 3) for _ in range(25)]


def value_conditions(seed, kind):
    draw = random.Random(seed)
    if kind == "categories":
        value = lambda: "'" + draw.choice(["flu", "cough", "O'Hara's", "gout, acute", "mumps", "x"]).replace("'", "''") + "'"
        simple = [
            lambda: f"pay {draw.choice(['=', '<>'])} {value()}",
            lambda: f"pay {draw.choice(['IN', 'NOT IN'])} ({value()}, {value()})",
            lambda: f"pay LIKE '%{draw.choice(['u', 'o', 'm%s', 'zz'])}%'",
        ]
    else:
        unit = 100 if kind == "decimals" else 1
        value = lambda: (draw.randint(-4, 21) * 125 + draw.choice([0, 0, 1, -1])) / unit if unit > 1 else draw.randint(-4, 21) * 125 + draw.choice([0, 1])
        simple = [
            lambda: f"pay {draw.choice(['=', '<>', '<', '<=', '>', '>='])} {value()}",
            lambda: f"pay BETWEEN {value()} AND {value()}",
            lambda: f"pay NOT BETWEEN {value()} AND {value()}",
            lambda: f"pay {draw.choice(['IN', 'NOT IN'])} ({value()}, {value()}, {value()})",
        ]
    return [compound(draw, simple, 2) for _ in range(16)]


PLAIN = ["COUNT", "SUM", "AVG", "MIN", "MAX"]
FILTERED = PLAIN + ["MEDIAN"]


def split(script):
    """The queries of queries.sql by the comment before each; those with a condition on the attribute have a question mark."""
    found, name = {}, None
    for line in script.splitlines():
        if line.startswith("-- "):
            name = line[3:].split()[0] if "by a column" not in line else "BY"
            name += "?" if "with a condition on" in line else ""
        elif line and name:
            found[name] = found.get(name, "") + line + "\n"
    wanted = PLAIN + ["BY"] + [name + "?" for name in FILTERED]
    return {name: sql for name, sql in found.items() if name in wanted}


class Sqlite:
    name = "SQLite"

    def __init__(self, folder):
        script = list(statements(open("load-sqlite.sql", encoding="utf-8").read()))
        try:
            import apsw
            import apsw.shell

            self.connection = apsw.Connection(":memory:")
            shell = apsw.shell.Shell(db=self.connection)
            for statement in script:
                shell.process_command(statement) if statement.startswith(".") else shell.process_sql(statement)
        except ImportError:
            import sqlite3

            self.connection = sqlite3.connect(":memory:")
            for statement in script:
                self.dot(statement.split()) if statement.startswith(".") else self.connection.execute(statement)
        # LIKE tells capitals apart in the other two, and in `scumble query`.
        self.connection.execute("PRAGMA case_sensitive_like = 1")

    def dot(self, command):
        """The dot commands of the load script: the mode is CSV, and the header is a row like all others."""
        if command[0] == ".import":
            for row in csv.reader(open(command[1], encoding="utf-8", newline="")):
                self.connection.execute(f"INSERT INTO {command[2]} VALUES ({', '.join('?' * len(row))})", row)

    def rows(self, sql):
        return list(self.connection.execute(sql))


class Duckdb:
    name = "DuckDB"

    def __init__(self, folder):
        import duckdb

        self.connection = duckdb.connect()
        self.connection.execute(open("load-duckdb.sql", encoding="utf-8").read())

    def rows(self, sql):
        return self.connection.execute(sql).fetchall()


class Postgresql:
    name = "PostgreSQL"

    def __init__(self, folder):
        self.psql(["-f", "load-postgresql.sql"])

    def psql(self, arguments):
        command = ["psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "--single-transaction"] + arguments
        return subprocess.run(command, check=True, capture_output=True, text=True, encoding="utf-8").stdout

    def rows(self, sql):
        out = self.psql(["-A", "-t", "-F", "\x1f", "-c", sql])
        return [tuple(field or None for field in line.split("\x1f")) for line in out.splitlines()]

    def __del__(self):
        self.psql(["-c", "DROP TABLE IF EXISTS records, sensitive, bounds, groups, hierarchy"])


def statements(script):
    """Dot commands by the line, SQL up to its semicolon at the end of a line."""
    statement = ""
    for line in script.splitlines():
        if line.startswith("--"):
            continue
        if line.startswith("."):
            yield line
            continue
        statement += line + "\n"
        if line.endswith(";"):
            yield statement
            statement = ""


def close(one, other):
    if one is None or other is None:
        return one is None and other is None
    return abs(float(one) - float(other)) <= 1e-9 * max(1.0, abs(float(one)))


def compare(database, queries, folder, seed, kind):
    compared = 0
    for condition in conditions(seed):
        for aggregate in PLAIN if kind != "categories" else ["COUNT"]:
            said = ask(folder, f"SELECT {aggregate}(pay) FROM t WHERE {condition}")
            (row,) = database.rows(queries[aggregate].replace("1 = 1", condition))
            agree(database, f"{aggregate} WHERE {condition}", row, said)
            compared += 1
    pairs = zip(["1 = 1", "1 = 1"] + conditions(seed + 100), ["2 = 2"] + value_conditions(seed, kind))
    for condition, value in pairs:
        aggregates = FILTERED if kind != "categories" else ["COUNT"]
        names = ", ".join(f"{aggregate}(pay)" for aggregate in aggregates)
        said = ask(folder, f"SELECT {names} FROM t WHERE ({condition}) AND ({value})")
        several = said["aggregates"] if len(aggregates) > 1 else [said]
        for aggregate, one in zip(aggregates, several):
            sql = queries[aggregate + "?"].replace("1 = 1", condition).replace("2 = 2", value)
            (row,) = database.rows(sql)
            agree(database, f"{aggregate} WHERE {condition} AND {value}", row, {"rows": said["rows"], **one})
            compared += 1
    if kind == "categories":
        return compared
    by = ask(folder, "SELECT AVG(pay) FROM t GROUP BY age")["answers"]
    rows = database.rows(queries["BY"])
    assert len(rows) == len(by), f"{database.name}: {len(rows)} and {len(by)} parts"
    known = {answer["by"]["age"]: answer for answer in by}
    for part, count, lower, upper in rows:
        answer = known[None if part is None else str(part)]
        assert answer["rows"] == int(count) and close(lower, answer["lower"]) and close(upper, answer["upper"])
        compared += 1
    return compared


def agree(database, asked, row, said):
    rows, bounds = (row[0] or 0), (row[1:] or (row[0], row[0]))
    same = int(rows) == said["rows"] and close(bounds[0], said["lower"]) and close(bounds[1], said["upper"])
    assert same, f"{database.name}: {asked}: {row} and {said}"


def ask(folder, sql):
    done = subprocess.run([SCUMBLE, "query", folder, sql, "--json"], capture_output=True, text=True, encoding="utf-8")
    assert done.returncode == 0, f"{sql}: {done.stderr}"
    return json.loads(done.stdout)


CASES = [
    ("uniform", "sa-only", "whole", ""),
    ("source", "sa-only", "decimals", ""),
    ("uniform", "qi-sa", "decimals", ""),
    ("uniform", "sa-only", "runs", ""),
    ("source", "sa-only", "categories", 'hierarchy = "diseases.csv"'),
]


def installed():
    databases = [Sqlite]
    try:
        import duckdb  # noqa: F401

        databases.append(Duckdb)
    except ImportError:
        print("SKIPPED: DuckDB (its package is not installed)")
    if os.environ.get("PGDATABASE") and shutil.which("psql"):
        databases.append(Postgresql)
    else:
        print("SKIPPED: PostgreSQL (no server is named by PGDATABASE)")
    return databases


def main():
    databases = installed()
    with tempfile.TemporaryDirectory() as place:
        os.chdir(place)
        open("diseases.csv", "w", encoding="utf-8").write(DISEASES)
        for seed, (target, algorithm, kind, more) in enumerate(CASES):
            open("table.csv", "w", encoding="utf-8").write(table(seed, kind))
            policy = POLICY.format(target=target, algorithm=algorithm, more=more)
            if kind == "runs":
                policy += "domain = [-300, 4700]\n"
            open("policy.toml", "w", encoding="utf-8").write(policy)
            folder = os.path.join(place, "out")
            subprocess.run([SCUMBLE, "anonymize", "table.csv", "-p", "policy.toml", "-o", folder], check=True, stdout=subprocess.DEVNULL)
            os.chdir(folder)
            queries = split(open("queries.sql", encoding="utf-8").read())
            wanted = PLAIN + ["BY"] + [name + "?" for name in FILTERED] if kind != "categories" else ["COUNT", "COUNT?"]
            assert sorted(queries) == sorted(wanted), sorted(queries)
            assert kind != "runs" or "run(target" in queries["SUM?"], "no run of whole numbers"
            for database in databases:
                compared = compare(database(folder), queries, folder, seed, kind)
                print(f"{database.name}, {target}, {algorithm}, {kind}: {compared} answers agree")
            os.chdir(place)


main()
