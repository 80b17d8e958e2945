"""Do databases and `scumble query` give the same bounds?

A random table is released as a distribution; its folder is loaded with its own load scripts, its own queries are run as they stand and
with random conditions, and every answer must be what `scumble query` says. SQLite runs through apsw's shell, which knows the dot commands
of the load script; DuckDB through its package. Both come from PyPI; PostgreSQL is tried where a server is named by PGDATABASE.
"""

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
[privacy.distribution]
attribute = "pay"
target = "{target}"
groups = ["city"]
fakes = "10%"
algorithm = "{algorithm}"
"""

CITIES = ["Bern", "Thun", "Visp, \"am\" Berg", "O'Fallon", ""]


def table(seed, decimals):
    draw = random.Random(seed)
    rows = ["name,age,city,joined,share,pay"]
    for person in range(400):
        age = draw.choice([str(draw.randint(17, 79)), str(draw.randint(17, 79)), ""])
        city = '"' + draw.choice(CITIES).replace('"', '""') + '"'
        joined = f"20{draw.randint(10, 24)}-0{draw.randint(1, 9)}-1{draw.randint(0, 9)}"
        pay = draw.randint(1, 24) * 125
        pay = f"{pay / 100:.2f}" if decimals else pay
        rows.append(f"p{person},{age},{city},{joined},{draw.randint(0, 8) / 4},{pay}")
    return "\n".join(rows) + "\n"


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

    def compound(depth):
        if depth == 0 or draw.random() < 0.3:
            return draw.choice(simple)()
        one, other = compound(depth - 1), compound(depth - 1)
        return draw.choice([f"({one} AND {other})", f"({one} OR {other})", f"NOT ({one})"])

    return ["1 = 1"] + [compound(3) for _ in range(25)]


def split(script):
    """The queries of queries.sql by the comment before each."""
    found, name = {}, None
    for line in script.splitlines():
        if line.startswith("-- "):
            name = line[3:].split()[0] if "by a column" not in line else "BY"
        elif line and name:
            found[name] = found.get(name, "") + line + "\n"
    return {name: sql for name, sql in found.items() if name in ("COUNT", "SUM", "AVG", "MIN", "MAX", "BY")}


class Sqlite:
    name = "SQLite"

    def __init__(self, folder):
        import apsw
        import apsw.shell

        self.connection = apsw.Connection(":memory:")
        shell = apsw.shell.Shell(db=self.connection)
        for statement in statements(open("load-sqlite.sql", encoding="utf-8").read()):
            shell.process_command(statement) if statement.startswith(".") else shell.process_sql(statement)
        # LIKE tells capitals apart in the other two, and in `scumble query`.
        self.connection.execute("PRAGMA case_sensitive_like = 1")

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


def compare(database, queries, folder, seed):
    compared = 0
    for condition in conditions(seed):
        for aggregate in ("COUNT", "SUM", "AVG", "MIN", "MAX"):
            said = ask(folder, f"SELECT {aggregate}(pay) FROM t WHERE {condition}")
            (row,) = database.rows(queries[aggregate].replace("1 = 1", condition))
            rows, bounds = (row[0] or 0), (row[1:] or (row[0], row[0]))
            same = int(rows) == said["rows"] and close(bounds[0], said["lower"]) and close(bounds[1], said["upper"])
            assert same, f"{database.name}: {aggregate} WHERE {condition}: {row} and {said}"
            compared += 1
    by = ask(folder, "SELECT AVG(pay) FROM t GROUP BY age")["answers"]
    rows = database.rows(queries["BY"])
    assert len(rows) == len(by), f"{database.name}: {len(rows)} and {len(by)} parts"
    known = {answer["by"]["age"]: answer for answer in by}
    for part, count, lower, upper in rows:
        answer = known[None if part is None else str(part)]
        assert answer["rows"] == int(count) and close(lower, answer["lower"]) and close(upper, answer["upper"])
        compared += 1
    return compared


def ask(folder, sql):
    done = subprocess.run([SCUMBLE, "query", folder, sql, "--json"], capture_output=True, text=True, encoding="utf-8")
    assert done.returncode == 0, f"{sql}: {done.stderr}"
    return json.loads(done.stdout)


def main():
    databases = [Sqlite, Duckdb]
    if os.environ.get("PGDATABASE") and shutil.which("psql"):
        databases.append(Postgresql)
    else:
        print("SKIPPED: PostgreSQL (no server is named by PGDATABASE)")
    with tempfile.TemporaryDirectory() as place:
        os.chdir(place)
        for seed, (target, algorithm, decimals) in enumerate(
            [("uniform", "sa-only", False), ("source", "sa-only", True), ("uniform", "qi-sa", True)]
        ):
            open("table.csv", "w", encoding="utf-8").write(table(seed, decimals))
            open("policy.toml", "w", encoding="utf-8").write(POLICY.format(target=target, algorithm=algorithm))
            folder = os.path.join(place, "out")
            subprocess.run([SCUMBLE, "anonymize", "table.csv", "-p", "policy.toml", "-o", folder], check=True, stdout=subprocess.DEVNULL)
            os.chdir(folder)
            queries = split(open("queries.sql", encoding="utf-8").read())
            assert sorted(queries) == ["AVG", "BY", "COUNT", "MAX", "MIN", "SUM"], queries
            for database in databases:
                print(f"{database.name}, {target}, {algorithm}: {compare(database(folder), queries, folder, seed)} answers agree")
            os.chdir(place)


main()
