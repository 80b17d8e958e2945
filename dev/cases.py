"""The commands that dev/same-bytes runs, and the tables and policies that they run on.

A case is a list of commands for one folder. `in/` there is a folder of inputs (a bed), which is made
once, by OLD and from fixed seeds; everything else in the folder was written by the commands and is
compared. Most cases come once for each of 1, 2 and 3 threads. With --quick there is one of them, and
only some cases. Where there are many cases of one kind, they take the numbers of threads in turn.
"""

import csv
import io
import json
import pathlib
import random
import shlex
import shutil
import subprocess

try:
    import pyarrow
except ImportError:
    pyarrow = None

FORMATS = ["csv", "tsv", "parquet", "arrow"]
SPILL = {"spill/": ""}


class Step:
    """A command and how it must end."""

    def __init__(self, *arguments, status=0, text=False):
        self.arguments = [str(argument) for argument in arguments]
        self.status = status
        # Standard output is compared as a report, byte for byte, or not at all.
        self.json = "--json" in self.arguments
        self.text = text

    def __str__(self):
        ends = f"   (status {self.status})" if self.status else ""
        text = "scumble " + " ".join(shlex.quote(argument) for argument in self.arguments)
        return (text if len(text) < 400 else text[:400] + " ...") + ends


class Case:
    def __init__(self, group, name, bed, steps, files=None, must=None):
        self.group, self.name, self.bed, self.steps = group, name, bed.folder, steps
        self.files = files or {}
        # Says what is wrong if OLD's report does not show what the case is there for.
        self.must = must
        self.number = 0


class Bed:
    """A folder of inputs."""

    def __init__(self, folder):
        self.folder = folder
        folder.mkdir(parents=True)

    def file(self, name, content):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return f"in/{name}"

    def policy(self, text):
        """The path of a policy, which stands once for each text."""
        for path in self.folder.glob("policy-*.toml"):
            if path.read_text() == text:
                return f"in/{path.name}"
        return self.file(f"policy-{len(list(self.folder.glob('policy-*.toml')))}.toml", text)

    def read(self, name):
        return (self.folder / name).read_text()


class Cases:
    """The list that grows."""

    def __init__(self, quick):
        self.quick, self.all, self.turn = quick, [], 0

    def add(self, group, name, bed, *steps, quick=False, files=None, must=None):
        """A case that comes once."""
        if quick or not self.quick:
            self.all.append(Case(group, name, bed, list(steps), files, must))

    def threads(self, group, name, bed, *steps, quick=False, each=True, **more):
        """A case that comes with 1, 2 and 3 threads; with --quick or without `each`, with one of them in turn."""
        if self.quick and not quick:
            return
        self.turn += 1
        for threads in [1, 2, 3] if each and not self.quick else [self.turn % 3 + 1]:
            with_threads = [
                Step(*step.arguments, "--threads", threads, status=step.status, text=step.text) for step in steps
            ]
            self.add(group, f"{name}, threads {threads}", bed, *with_threads, quick=True, **more)


def anonymize(table, policy, *more, out="out.csv", status=0):
    return Step("anonymize", f"in/{table}", "--policy", policy, "-o", out, "--json", *more, status=status)


def verify(policy, *more, out="out.csv", status=0):
    return Step("verify", out, "--policy", policy, "--json", *more, status=status)


# --- policies ---

CENSUS = {
    "sex": 'hierarchy = "hierarchies/sex.csv"',
    "age": 'type = "integer"\nhierarchy = { intervals = [5, 10, 20, 40], from = 0, to = 100 }',
    "race": 'hierarchy = "hierarchies/race.csv"',
    "marital-status": 'hierarchy = "hierarchies/marital-status.csv"',
    "education": 'hierarchy = "hierarchies/education.csv"',
    "birthplace": 'hierarchy = "hierarchies/birthplace.csv"',
    "workclass": 'hierarchy = "hierarchies/workclass.csv"',
    "zip": 'type = "text"\nhierarchy = { mask = "right", char = "*" }',
}
FEW = ["sex", "age", "race", "workclass"]


def policy_text(keys, roles, privacy, search="", default="insensitive"):
    """`keys`: quasi-identifiers with what else is said of them; `roles`: other columns."""
    text = f'[defaults]\nrole = "{default}"\n'
    for name, more in keys.items():
        text += f'[attributes.{json.dumps(name)}]\nrole = "quasi-identifier"\n{more}\n'
    for name, role in roles.items():
        role, _, more = role.partition("\n")
        text += f'[attributes.{json.dumps(name)}]\nrole = "{role}"\n{more}\n'
    return f"{text}[privacy]\n{privacy}\n[search]\n{search}\n"


def census(privacy, search="", keys=None, roles=None):
    given = {"id": "identifier", "occupation": "sensitive", "salary-class": "target"}
    keys = {name: CENSUS[name] for name in keys or CENSUS if name not in (roles or {})}
    return policy_text(keys, {**given, **(roles or {})}, privacy, search)


NUMBERS = ["salary", "commission", "age", "elevel", "zipcode", "hvalue", "loan"]
STEPS = {
    "age": "hierarchy = { intervals = [5, 10, 20], from = 20, to = 80 }",
    "elevel": "hierarchy = { intervals = [2], from = 0, to = 4 }",
    "loan": "hierarchy = { intervals = [50000, 100000, 250000], from = 0, to = 500000 }",
}


def agrawal(privacy, search="", keys=NUMBERS, roles=None, steps=False):
    keys = STEPS if steps else {name: "" for name in keys}
    return policy_text(keys, roles or {"c2": "target", "c7": "sensitive"}, privacy, search)


ALGORITHMS = {
    # name: quasi-identifiers, requirements, search
    "incognito": (None, 'k = 5\nl-diversity = { kind = "distinct", l = 3 }', "suppression = { limit = 0.05 }"),
    "s-instant": (None, "k = 8", ""),
    "mondrian": (None, 'k = 5\nl-diversity = { kind = "distinct", l = 2 }', ""),
    "m-instant": (None, "k = 8", ""),
    "rothko-t": (None, "k = 5", ""),
    "rothko-s": (None, "k = 5", 'regions = "cover"'),
    "l-plus-optimize": (FEW, 'thresholds = { default = "1/3" }', 'suppression = { scheme = "violating-values" }'),
    "annealing": (["sex", "race"], "k = 5", 'suppression = { scheme = "all-records" }'),
}


# --- tables ---

PEOPLE = """name,age,city,ill
Ann,34,Bern,flu
Bob,36,Bern,gout
Cid,51,Thun,flu
Dee,55,Thun,asthma
Eva,38,Biel,gout
Fay,57,Thun,flu
"""
CITIES = "Bern;plain;CH\nBiel;plain;CH\nThun;lake;CH\n"
PEOPLE_KEYS = {
    "age": 'type = "integer"\nhierarchy = { intervals = [10, 20], from = 0, to = 100 }',
    "city": 'hierarchy = "city.csv"',
}
PEOPLE_ROLES = {"name": "identifier", "ill": "sensitive"}


def delimited(rows, delimiter=",", ends="\n", quoting=csv.QUOTE_MINIMAL):
    text = io.StringIO()
    csv.writer(text, delimiter=delimiter, lineterminator=ends, quoting=quoting).writerows(rows)
    return text.getvalue()


def to_tabs(path):
    """Writes a CSV file again as NAME.tsv, with tabs."""
    with path.open(newline="") as file:
        rows = list(csv.reader(file))
    path.with_suffix(".tsv").write_bytes(delimited(rows, "\t").encode())


class Inputs:
    """All beds. The tables of `generate` are written by OLD."""

    def __init__(self, folder, checkout, program):
        self.program = program
        self.six, self.salaries, self.example = (Bed(folder / name) for name in ("six", "salaries", "example"))
        for bed, name in ((self.six, "six"), (self.salaries, "salaries"), (self.example, "census")):
            shutil.copytree(checkout / "examples" / name, bed.folder, dirs_exist_ok=True)
        self.generated = Bed(folder / "generated")
        for seed, rows in ((1, 1200), (2, 600), (3, 12000)):
            self.generate("census", rows, seed, f"census{seed}")
        for seed, rows in ((1, 1500), (2, 25000)):
            self.generate("agrawal", rows, seed, f"agrawal{seed}")
        self.generate("census", 60000, 4, "large", ["csv", "arrow"])
        self.generate("agrawal", 120000, 4, "many", ["csv", "parquet"])
        for selection in ("uniform", "biased"):
            self.generate("subset", 4000, 5, selection, FORMATS, "--selection", selection)
        self.people = Bed(folder / "people")
        self.people.file("city.csv", CITIES)
        self.people.file("table.csv", PEOPLE)
        self.town = Bed(folder / "town")
        self.make_town()
        self.odd = Bed(folder / "odd")
        self.odd.file("city.csv", CITIES)

    def generate(self, kind, rows, seed, name, formats=FORMATS, *more):
        folder = self.generated.folder
        for ending in formats:
            if ending == "tsv":
                for path in folder.glob(f"{name}*.csv"):
                    to_tabs(path)
                continue
            command = ["generate", kind, "--rows", rows, "--seed", seed, "-o", f"{name}.{ending}",
                       "--policy", f"{name}.{ending}.toml", *more]
            command = [str(self.program), *map(str, command)]
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
            if done.returncode != 0:
                raise SystemExit(f"OLD cannot make the inputs: {' '.join(command)}: {done.stderr}")

    def make_town(self):
        """People whose ills depend on their ages, so that some classes have one ill only."""
        draw = random.Random(7)
        rows = [["age", "city", "ill", "pay", "vote"]]
        for _ in range(150):
            age = draw.randrange(20, 60)
            ill = draw.choice(["flu", "gout"] if age < 30 else ["flu", "gout", "asthma", "HIV"])
            pay = draw.randrange(20, 90) * 500
            city = draw.choice(["Bern", "Biel", "Thun", "Spiez"])
            rows.append([age, city, ill, pay, draw.choice(["yes", "no", "no"])])
        self.town.file("town.csv", delimited(rows))
        to_tabs(self.town.folder / "town.csv")
        self.town.file("city.csv", "Bern;plain;CH\nBiel;plain;CH\nThun;lake;CH\nSpiez;lake;CH\n")
        self.town.file("ills.csv", "flu;light;any\ngout;light;any\nasthma;heavy;any\nHIV;heavy;any\n")


TOWN_KEYS = {
    "age": 'type = "integer"\nhierarchy = { intervals = [5, 10, 20], from = 20, to = 59 }',
    "city": 'hierarchy = "city.csv"',
}


def town(privacy, search="", roles=None, keys=TOWN_KEYS):
    return policy_text(keys, {"ill": "sensitive", "vote": "target", **(roles or {})}, privacy, search)


# --- groups of cases ---


def examples(cases, inputs):
    """What the README runs."""
    six, salaries, example = inputs.six, inputs.salaries, inputs.example
    for ending in FORMATS:
        out = f"out.{ending}"
        cases.threads("examples", f"six to {ending}", six, anonymize("people.csv", "in/policy.toml", out=out),
                      verify("in/policy.toml", out=out), quick=True)
        cases.threads("examples", f"census to {ending}", example,
                      anonymize("census.csv", "in/policy.toml", "--save-recoding", "saved.json", out=out),
                      verify("in/policy.toml", out=out), quick=ending == "csv")
    cases.threads("examples", "salaries", salaries, anonymize("employees.csv", "in/policy.toml", out="out"),
                  verify("in/policy.toml", out="out"),
                  verify("in/policy.toml", "--original", "in/employees.csv", out="out"),
                  Step("query", "out", "SELECT AVG(salary) FROM release WHERE gender = 'F'", "--json"), quick=True)


def formats(cases, inputs):
    """Every algorithm, from every format to every format."""
    bed = inputs.generated
    for turn, (algorithm, (keys, privacy, search)) in enumerate(ALGORITHMS.items()):
        policy = bed.policy(census(privacy, search, keys))
        for a, source in enumerate(FORMATS):
            for b, target in enumerate(FORMATS):
                out = f"out.{target}"
                cases.threads("formats", f"{algorithm}, {source} to {target}", bed,
                              anonymize(f"census1.{source}", policy, "--algorithm", algorithm, "--seed", 1, out=out),
                              verify(policy, out=out), quick=(a + b + turn) % 4 == 0)
    for turn, (algorithm, world) in enumerate(PRESENCE):
        for a, source in enumerate(FORMATS):
            policy = bed.policy(presence_text(world.format(name="biased", ending=source)))
            for b, target in enumerate(FORMATS):
                out = f"out.{target}"
                cases.threads("formats", f"{algorithm} {world.split()[3]}, {source} to {target}", bed,
                              anonymize(f"biased.{source}", policy, "--algorithm", algorithm, out=out),
                              verify(policy, out=out), quick=a == b and (a + turn) % 2 == 0)
    for algorithm in ("sa-only", "qi-sa"):
        text = agrawal(f'distribution = {{ attribute = "salary", target = "uniform", groups = ["elevel"], '
                       f'algorithm = "{algorithm}", fakes = 2 }}', keys=["age", "elevel", "zipcode"],
                       roles={"salary": "sensitive"})
        policy = bed.policy(text)
        for source in FORMATS:
            cases.threads("formats", f"{algorithm}, {source} to a folder", bed,
                          anonymize(f"agrawal1.{source}", policy, out="out"),
                          verify(policy, "--original", f"in/agrawal1.{source}", out="out"), quick=source != "tsv")


PRESENCE = [
    ("spalm", 'max = 0.1, population = "{name}.population.{ending}"'),
    ("mpalm", 'max = 0.1, population = "{name}.population.{ending}"'),
    ("sfalm", 'max = 0.15, confidence = 0.9, marginals = "{name}.marginals.csv"'),
    ("mpalm", 'max = 0.15, confidence = 0.9, marginals = "{name}.marginals.csv"'),
]


def presence_text(world, more="", roles=None):
    return census(f"presence = {{ {world} }}\n{more}", roles=roles)


DIVERSITY = 'l-diversity = {{ kind = "{}", l = {}{} }}'
REQUIREMENTS = {
    "k": "k = 4",
    "frequency": DIVERSITY.format("frequency", 2, ""),
    "distinct": DIVERSITY.format("distinct", 3, ""),
    "entropy": DIVERSITY.format("entropy", 2, ""),
    "recursive": DIVERSITY.format("recursive", 2, ", c = 3"),
    "two diversities": "k = 3\nl-diversity = [{ kind = \"distinct\", l = 3 }, { kind = \"entropy\", l = \"3/2\" }]",
    "t, equal": 't-closeness = { t = 0.4, distance = "equal" }',
    "t, fitting": "k = 3\nt-closeness = 0.35",
    "t, hierarchical": 't-closeness = { t = 0.35, distance = "hierarchical" }',
    "t, ordered": 't-closeness = { t = 0.3, distance = "ordered", sensitive = "pay" }',
    "variance": 'variance = { at-least = 2e7, sensitive = "pay" }',
    "variance of all": "k = 2\nvariance = 1e7",
    "thresholds, default": 'thresholds = { default = "1/2", sensitive = "ill" }',
    "thresholds, values": 'thresholds = { values = { HIV = "1/3", flu = 0.6 }, sensitive = "ill" }',
    "thresholds, beside": 'thresholds = { default = "60%", HIV = "2/5", sensitive = "ill" }',
    "thresholds, from-frequency": 'thresholds = { from-frequency = "2/5", sensitive = "ill" }',
    "all together": 'k = 4\nl-diversity = { kind = "entropy", l = 2 }\nt-closeness = { t = 0.4, sensitive = "pay" }\n'
                    'variance = 1e7\nthresholds = { default = "3/4", sensitive = "ill" }',
}


def requirements(cases, inputs):
    """Every requirement, under algorithms that know all of them."""
    bed = inputs.town
    for name, privacy in REQUIREMENTS.items():
        about_pay = any(word in privacy for word in ("pay", "variance"))
        roles = {"ill": 'sensitive\nhierarchy = "ills.csv"' if "hierarchical" in privacy else "sensitive"}
        if about_pay:
            roles["pay"] = 'sensitive\ntype = "integer"'
        for algorithm in ("incognito", "mondrian", "rothko-t", "rothko-s", "s-instant", "m-instant"):
            search = "suppression = { limit = 0.1 }" if algorithm in ("incognito", "s-instant") else ""
            policy = bed.policy(town(privacy, search, roles))
            more = ["--sample-tuples", 40, "--fan-out", 3] if algorithm.startswith("rothko") else []
            cases.threads("requirements", f"{name}, {algorithm}", bed,
                          anonymize("town.csv", policy, "--algorithm", algorithm, "--seed", 2, *more),
                          verify(policy),
                          *([verify(policy, "--original", "in/town.csv")] if "from-frequency" in privacy else []),
                          quick=algorithm in ("incognito", "mondrian"), each=algorithm in ("incognito", "mondrian", "rothko-t"))


def searches(cases, inputs):
    """Losses, strategies, splits, labels, levels, orders: all that a search can be told."""
    bed = inputs.generated
    with_limit = bed.policy(census("k = 5", "suppression = { limit = 0.05 }"))
    for loss in ("lm", "dm", "cm"):
        for strategy in ("best-first", "top-down", "bottom-up"):
            cases.threads("searches", f"incognito, {loss}, {strategy}", bed,
                          anonymize("census2.csv", with_limit, "--loss", loss, "--strategy", strategy),
                          quick=strategy == "best-first", each=strategy != "bottom-up")
    for name, seed in (("census2", 1), ("census3", 2)):
        for k, share in ((2, "0"), (10, "1%"), (50, "1/10")):
            cases.threads("searches", f"{name}, k={k}, suppression {share}", bed,
                          anonymize(f"{name}.csv", with_limit, "-k", k, "--suppression", share, "--seed", seed),
                          quick=k == 10)
    for split, target in (("median", "c2"), ("info-gain", "c2"), ("regression", "r7"), ("info-gain", "r10")):
        for regions in ("tight", "cover"):
            text = agrawal("k = 25", f'split = "{split}"\nregions = "{regions}"\nleast-gain = 0.02', roles={target: "target"})
            policy = bed.policy(text)
            for algorithm in ("mondrian", "rothko-t", "rothko-s"):
                more = ["--sample-tuples", 200, "--fan-out", 4] if "rothko" in algorithm else []
                more += ["--frequency-groups", 3] if algorithm == "rothko-t" else []
                cases.threads("searches", f"{algorithm}, {split} of {target}, {regions}", bed,
                              anonymize("agrawal1.parquet", policy, "--algorithm", algorithm, *more),
                              verify(policy), quick=regions == "cover")
    few = {"sex": CENSUS["sex"], "age": 'type = "integer"', "education": CENSUS["education"], "zip": 'type = "text"'}
    for regions in ("tight", "cover"):
        policy = bed.policy(policy_text(few, {"id": "identifier", "occupation": "sensitive"}, "k = 10",
                                        f'algorithm = "mondrian"\nregions = "{regions}"'))
        for source in FORMATS:
            cases.threads("searches", f"mondrian over trees and numbers, {regions}, {source}", bed,
                          anonymize(f"census3.{source}", policy, out=f"out.{source}"), quick=source == "arrow")
    levels = "sex=1,age=3,race=1,marital-status=2,education=2,birthplace=2,workclass=2,zip=5"
    for source in FORMATS:
        for target in FORMATS:
            cases.threads("searches", f"levels, {source} to {target}", bed,
                          anonymize(f"census2.{source}", with_limit, "--levels", levels, "-k", 2, out=f"out.{target}"),
                          quick=source == target, each=source == target)
    for algorithm in ("incognito", "mondrian", "s-instant", "m-instant"):
        policy = bed.policy(census("k = 6"))
        for target in FORMATS:
            cases.threads("searches", f"keep-order, {algorithm}, {target}", bed,
                          anonymize("census2.csv", policy, "--keep-order", "--algorithm", algorithm, out=f"out.{target}"),
                          quick=target == "parquet")


def saved(cases, inputs):
    """Recodings that are saved and applied to the same and to other rows."""
    bed = inputs.generated
    for algorithm, (keys, privacy, search) in ALGORITHMS.items():
        cover = '\nregions = "cover"' if algorithm in ("mondrian", "m-instant", "rothko-t") else ""
        policy = bed.policy(census(privacy, f'algorithm = "{algorithm}"\n{search}{cover}', keys))
        apply = ["--policy", policy, "--json"]
        if algorithm in ("l-plus-optimize", "annealing"):
            other = []
        else:
            other = [Step("apply", "saved.json", "in/census2.parquet", *apply, "--suppression", "99%", "-o", "other.csv")]
        cases.threads("saved", algorithm, bed,
                      anonymize("census1.csv", policy, "--save-recoding", "saved.json", "--seed", 3),
                      Step("apply", "saved.json", "in/census1.arrow", *apply, "-o", "again.csv", "--seed", 3),
                      Step("apply", "saved.json", "in/census1.csv", *apply, "-o", "again.parquet", "--keep-order"),
                      *other, quick=True)


def cuts(cases, inputs):
    """The best cuts: schemes, losses, draws."""
    bed = inputs.town
    schemes = ["none", "all-records", "violating-records", "all-values", "violating-values"]
    for algorithm in ("l-plus-optimize", "annealing"):
        for name, privacy in (("caps", 'thresholds = { default = "1/2", HIV = "1/3" }'),
                              ("caps by frequency", 'thresholds = { from-frequency = "1/3" }'),
                              ("frequency", 'k = 2\nl-diversity = { kind = "frequency", l = 2 }'), ("k", "k = 7")):
            for scheme in schemes:
                for loss in ("lm", "dm", "cm"):
                    values = scheme.endswith("values")
                    if values and (loss != "lm" or name in ("k", "frequency")):
                        continue
                    # Annealing takes a second; the writer of what it found is the same.
                    if algorithm == "annealing" and (loss != "lm" or name == "frequency"):
                        continue
                    search = f'algorithm = "{algorithm}"\nsuppression = {{ scheme = "{scheme}" }}'
                    policy = bed.policy(town(privacy, search))
                    cases.threads("cuts", f"{algorithm}, {name}, {scheme}, {loss}", bed,
                                  anonymize("town.csv", policy, "--loss", loss, "--seed", 5),
                                  verify(policy), quick=algorithm == "l-plus-optimize" and (loss == "lm" or name == "caps"),
                                  each=algorithm == "l-plus-optimize" and loss == "lm")
    search = 'algorithm = "l-plus-optimize"\nsuppression = { scheme = "violating-values", token = "withheld" }'
    policy = bed.policy(town('thresholds = { default = "1/2", HIV = "1/3" }', search))
    for ending in FORMATS:
        out = f"out.{ending}"
        cases.threads("cuts", f"token, {ending}", bed, anonymize("town.csv", policy, out=out), verify(policy, out=out),
                      quick=ending == "arrow")
    for seed in (1, 2, 3):
        for flag in (["--top", 5], ["--extra-generalization"], ["--extra-suppression", "10%"],
                     ["--scheme", "violating-records"]):
            cases.threads("cuts", f"{flag[0]}, seed {seed}", bed, anonymize("town.csv", policy, *flag, "--seed", seed),
                          quick=seed == 1)
    cases.threads("cuts", "a time limit that is not reached", bed, anonymize("town.csv", policy, "--time-limit", "1h"),
                  quick=True)
    bed = inputs.generated
    for scheme in ("none", "all-records", "violating-records"):
        policy = bed.policy(census("k = 20", f'algorithm = "l-plus-optimize"\nsuppression = {{ scheme = "{scheme}" }}',
                                   ["sex", "age", "race", "education"]))
        cases.threads("cuts", f"census, {scheme}", bed, anonymize("census3.parquet", policy, "--seed", 1), quick=scheme == "none")


def presence(cases, inputs):
    """Populations, marginals, confidences, and what may be switched off."""
    bed = inputs.generated
    for selection in ("uniform", "biased"):
        for algorithm, world in PRESENCE:
            world = world.format(name=selection, ending="csv")
            for more in ("", "k = 3"):
                policy = bed.policy(presence_text(world, more))
                cases.threads("presence", f"{selection}, {algorithm} {world.split()[3]}, {more}", bed,
                              anonymize(f"{selection}.csv", policy, "--algorithm", algorithm), verify(policy),
                              quick=selection == "uniform" and not more)
    likely = 'max = 0.15, confidence = 0.9, marginals = "uniform.marginals.csv"'
    policy = bed.policy(presence_text(likely))
    for without in ("pa", "sd", "dm", "dc", "sd,dc,dm", "moments", "sharing", "refinement"):
        cases.threads("presence", f"without {without}", bed, anonymize("uniform.csv", policy, "--without", without),
                      quick=without == "pa")
    cases.threads("presence", "sigmas and buckets", bed, anonymize("uniform.csv", policy, "--sigmas", 4, "--bucket", 2))
    policy = bed.policy(presence_text(likely + ', marginals-of = "others"'))
    for algorithm in ("sfalm", "mpalm"):
        cases.threads("presence", f"marginals of others, {algorithm}", bed,
                      anonymize("uniform.csv", policy, "--algorithm", algorithm), verify(policy), quick=True)
    both = 'min = 0.01, max = 0.2, confidence = 0.8, marginals = "uniform.marginals.csv"'
    policy = bed.policy(presence_text(both + ', cover = "all"'))
    for algorithm in ("sfalm", "mpalm"):
        cases.threads("presence", f"cover all, {algorithm}", bed,
                      anonymize("uniform.csv", policy, "--algorithm", algorithm), verify(policy), quick=algorithm == "sfalm")
    with (bed.folder / "uniform.csv").open(newline="") as file:
        rows = list(csv.reader(file))
    sure = [row + ["sure" if at == 0 else {1: "0.9999", 5: "0.95"}.get(at, "")] for at, row in enumerate(rows)]
    bed.file("sure.csv", delimited(sure))
    policy = bed.policy(presence_text(both + ', confidence-column = "sure"', roles={"sure": "identifier"}))
    for algorithm in ("sfalm", "mpalm"):
        cases.threads("presence", f"confidence-column, {algorithm}", bed,
                      anonymize("sure.csv", policy, "--algorithm", algorithm), verify(policy), quick=True)
    policy = bed.policy(presence_text('max = 0.1, population = "uniform.population.csv"'))
    for strategy in ("top-down", "bottom-up"):
        cases.threads("presence", f"spalm {strategy}", bed, anonymize("uniform.csv", policy, "--strategy", strategy), each=False)


WEIGHTS = "value,weight\n30000,1/4\n40000,0.25\n50000.0,1\n60000,2\n70000,0\n80000,1\n"
TARGETS = {
    "uniform": 'target = "uniform"',
    "source": 'target = "source"',
    "source of group": 'target = { kind = "source", of = "group" }',
    "uniform of group": 'target = { kind = "uniform", of = "group" }',
    "normal": 'target = "normal"',
    "normal by hand": 'target = { kind = "normal", mean = 50000, deviation = 10000 }',
    "zipf": 'target = "zipf"',
    "zipf by hand": 'target = { kind = "zipf", s = 0.5 }',
    "file": 'target = "weights.csv"',
    "by group": 'target = "uniform"\ntargets = { "912**" = "weights.csv", "913**" = { kind = "zipf" } }',
    "domain": 'target = "uniform"\ndomain = [29999, 60001]',
    "rounding": 'target = "source"\nrounding = "10%"',
    "arity": 'target = "uniform"\narity = 3',
}
QUERIES = [
    "SELECT COUNT(*) FROM e",
    "SELECT SUM(salary) FROM e WHERE gender IS NOT NULL AND 1 = 1",
    "SELECT AVG(salary) FROM e WHERE zipcode BETWEEN '91200' AND '91399'",
    "SELECT MIN(salary) FROM e WHERE zipcode IN ('91110', '91130')",
    "SELECT MAX(salary) FROM e WHERE NOT (gender = 'F' OR zipcode < '91300')",
    "SELECT MEDIAN(salary) FROM e WHERE \"group\" LIKE '911%'",
    "SELECT gender, AVG(salary) FROM e GROUP BY gender",
]


def distributions(cases, inputs):
    """Targets, groups, fakes, both algorithms, and classes beside them."""
    bed = inputs.salaries
    bed.file("weights.csv", WEIGHTS)
    bed.file("levels.csv", "30000;low;any\n40000;low;any\n50000;high;any\n60000;high;any\n")
    policy_of_example = bed.read("policy.toml")

    def text(target, groups="groups = { zipcode = 2 }", privacy="", salary='type = "integer"', search=""):
        changed = policy_of_example
        for old, new in (('target = "uniform"', target), ("groups = { zipcode = 2 }", groups),
                         ('type = "integer"', salary), ("[privacy.distribution]", f"{privacy}[privacy.distribution]")):
            assert old in changed
            changed = changed.replace(old, new)
        return changed + search

    def add(name, policy, *more, quick=False, each=True, queries=()):
        policy = bed.policy(policy)
        asked = [Step("query", "out", query, "--json") for query in queries]
        cases.threads("distributions", name, bed, anonymize("employees.csv", policy, *more, out="out"),
                      verify(policy, out="out"), verify(policy, "--original", "in/employees.csv", out="out"), *asked,
                      quick=quick, each=each)

    for name, target in TARGETS.items():
        for algorithm in ("sa-only", "qi-sa"):
            for fakes in ("", "\nfakes = 1", '\nfakes = "50%"'):
                told = fakes.strip() or "no fakes"
                add(f"{name}, {algorithm}, {told}", text(f'{target}\nalgorithm = "{algorithm}"{fakes}'),
                    quick=not fakes, each=not fakes, queries=[] if fakes else QUERIES[:2])
    for groups in ("", 'groups = ["gender"]', 'groups = ["gender", "zipcode"]', "groups = { zipcode = 3, gender = 0 }"):
        add(f"groups {groups}", text('target = "uniform"', groups), quick=True, queries=QUERIES)
    add("categories", text('target = "uniform"', "", salary='type = "text"\nhierarchy = "levels.csv"'), quick=True)
    for algorithm in ("auto", "incognito", "mondrian", "s-instant"):
        regions = 'regions = "cover"' if algorithm == "mondrian" else ""
        search = f'\n[search]\nalgorithm = "{algorithm}"\n{regions}\n'
        add(f"k = 3 by {algorithm}", text('target = "uniform"', "", "[privacy]\nk = 3\n\n", search=search), quick=True,
            queries=QUERIES[:1])
    search = "\n[search]\nsuppression = { limit = 0.4 }\n"
    add("k = 4 with suppression", text('target = "uniform"', "fakes = 2", "[privacy]\nk = 4\n\n", search=search), quick=True)
    texts = [Step("query", "out", query, text=True) for query in QUERIES]
    policy = bed.policy(text('target = "uniform"'))
    cases.add("distributions", "answers for people", bed, anonymize("employees.csv", policy, out="out"), *texts, quick=True)
    bed = inputs.generated
    for name, table in (("small", "agrawal1"), ("large", "agrawal2")):
        for target in ("uniform", "source", "normal"):
            for algorithm in ("sa-only", "qi-sa"):
                if name == "large" and (target, algorithm) not in (("uniform", "sa-only"), ("source", "qi-sa")):
                    continue
                policy = bed.policy(agrawal(
                    f'distribution = {{ attribute = "salary", target = "{target}", groups = ["elevel", "car"], fakes = "1%", '
                    f'rounding = "1%", algorithm = "{algorithm}" }}', keys=["age", "elevel", "car", "zipcode"],
                    roles={"salary": "sensitive"}))
                cases.threads("distributions", f"{name} agrawal, {target}, {algorithm}", bed,
                              anonymize(f"{table}.parquet", policy, out="out"), verify(policy, out="out"),
                              Step("query", "out", "SELECT elevel, SUM(salary) FROM r WHERE age < 50 GROUP BY elevel", "--json"),
                              quick=name == "small" and target == "uniform", each=name == "small")
    policy = bed.policy(census('distribution = { attribute = "education", target = "source", groups = ["sex"] }',
                               keys=["sex", "age"], roles={"occupation": "insensitive",
                                                           "education": 'sensitive\nhierarchy = "hierarchies/education.csv"'}))
    cases.threads("distributions", "categories of a census", bed, anonymize("census1.arrow", policy, out="out"),
                  verify(policy, out="out"), quick=True)


def spilled(report):
    return None if report.get("io", {}).get("repartitions", 0) > 1 else f"no rows were spilled: {report.get('io')}"


def on_disk(cases, inputs):
    """Partitions that do not fit into the memory that is allowed."""
    bed = inputs.generated
    numbers = bed.policy(agrawal('k = 100\nl-diversity = { kind = "distinct", l = 2 }', 'regions = "cover"'))
    trees = bed.policy(census("k = 20", ""))
    tiny = ["--memory", "16MiB", "--sample-tuples", 2000, "--fan-out", 5, "--spill-dir", "spill"]
    for algorithm in ("rothko-t", "rothko-s"):
        groups = ["--frequency-groups", 3] if algorithm == "rothko-t" else []
        flags = ["--algorithm", algorithm, *tiny, *groups]
        for table, policy in (("agrawal2", numbers), ("census3", trees)):
            for source in FORMATS:
                for target in FORMATS:
                    seeds = (1,) if algorithm == "rothko-t" else (1, 2)
                    for seed in seeds[: 2 if source == target else 1]:
                        out = f"out.{target}"
                        cases.threads("on disk", f"{algorithm}, {table}, {source} to {target}, seed {seed}", bed,
                                      anonymize(f"{table}.{source}", policy, *flags, "--seed", seed, out=out),
                                      files=SPILL, must=spilled, quick=source == target and seed == 1,
                                      each=source == target and seed == 1)
        for table, policy in (("many.csv", numbers), ("many.parquet", numbers), ("large.csv", trees), ("large.arrow", trees)):
            few = ["--sample-tuples", 6000, "--fan-out", 7, "--spill-dir", "spill", "--memory", "64MiB"]
            save = ["--save-recoding", "saved.json"] if policy == numbers else []
            cases.threads("on disk", f"{algorithm}, {table}", bed, anonymize(table, policy, "--algorithm", algorithm, *few, *save),
                          files=SPILL, must=spilled, quick=table == "many.parquet")
        for flag in (["--naive"], ["--alpha", 0.3]) if algorithm == "rothko-s" else ():
            cases.threads("on disk", f"rothko-s {flag[0]}", bed, anonymize("agrawal2.csv", numbers, *flags, *flag, "--seed", 4),
                          files=SPILL, must=spilled, quick=True)
        # The system's temporary folder, and the memory's own choice of partitions.
        cases.threads("on disk", f"{algorithm}, no flags", bed, anonymize("agrawal2.parquet", numbers, "--algorithm", algorithm))


def believed(cases, inputs):
    """Summaries, estimates, and releases that go by them."""
    bed = inputs.generated
    policy = bed.policy(census("k = 10"))
    with_limit = bed.policy(census("k = 10", "suppression = { limit = 0.05 }"))
    subtree = bed.policy(census("k = 10", 'space = "subtree"', keys=FEW))
    levels = "sex=1,age=3,race=1,marital-status=2,education=2,birthplace=2,workclass=2,zip=5"
    kinds = {
        "histogram": ["--kind", "histogram"],
        "bayes": ["--kind", "bayes"],
        "bayes, two parents": ["--kind", "bayes", "--max-parents", 2],
        "bayes, annealed": ["--kind", "bayes", "--max-parents", 2, "--search", "annealed", "--seed", 4],
        "sample": ["--kind", "sample"],
        "sample of 300": ["--kind", "sample", "--rows", 300, "--seed", 2],
    }
    for name, kind in kinds.items():
        for at, source in enumerate(FORMATS):
            estimate = ["estimate", "--summary", "s.json", "--policy", policy, "--json"]
            by_file = ["--summary", "s.json", "--algorithm"]
            cases.threads("believed", f"{name}, {source}", bed,
                          Step("summarize", f"in/census1.{source}", "--policy", policy, "-o", "s.json", *kind, "--json"),
                          Step(*estimate), Step(*estimate, "-k", 30), Step(*estimate, "--levels", levels),
                          Step(*estimate, "--by", "expectation", "--threshold", 20),
                          Step(*estimate, "--without", "hybrid,expo,sd-cut,limit,max", "--threshold", 0.5),
                          anonymize(f"census1.{source}", policy, *by_file, "s-instant", out="s.csv"),
                          anonymize(f"census2.{source}", policy, *by_file, "m-instant", out="m.csv"), quick=at == 0, each=at == 0)
    for kind in ("histogram", "bayes", "sample"):
        for algorithm in ("s-instant", "m-instant"):
            flags = ["--algorithm", algorithm, "--summary-kind", kind]
            for source in FORMATS:
                cases.threads("believed", f"{algorithm} by {kind}, {source}", bed,
                              anonymize(f"census1.{source}", policy, *flags, out=f"out.{source}"), quick=source == "csv")
            for more in (["--by", "probability", "--threshold", 0.3], ["--without", "hybrid,max"], ["--loss", "dm"]):
                cases.threads("believed", f"{algorithm} by {kind}, {more[0]}", bed,
                              anonymize("census2.csv", policy, *flags, *more), each=False)
        cases.threads("believed", f"suppression by {kind}", bed,
                      anonymize("census1.csv", with_limit, "--algorithm", "s-instant", "--summary-kind", kind), quick=True)
        cases.threads("believed", f"cuts by {kind}", bed,
                      anonymize("census1.csv", subtree, "--algorithm", "s-instant", "--summary-kind", kind), quick=True)


def nasty_rows(seed, rows, columns):
    """Words that break readers."""
    pieces = ["", '"', '""', ",", ";", "\t", "|", "\n", "\r\n", "\r", " ", "  ", "a", "Z", "0", "-1", "1e5", "é", "漢",
              "😀", "\ufeff", "'", "\\", "NULL"]
    draw = random.Random(seed)
    word = lambda: "".join(draw.choice(pieces) for _ in range(draw.randrange(5)))
    header = ["key", *(f"{word()}{at}" for at in range(columns))]
    return [header, *([draw.choice("ab"), *(word() for _ in range(columns))] for _ in range(rows))]


def dialects():
    """The six people in many dialects: name to (text, more arguments)."""
    crlf, mark = PEOPLE.replace("\n", "\r\n"), "\ufeff"
    quoted = delimited(list(csv.reader(io.StringIO(PEOPLE))), quoting=csv.QUOTE_ALL)
    return {
        "semicolons": (PEOPLE.replace(",", ";"), []),
        "tabs": (PEOPLE.replace(",", "\t"), []),
        "pipes": (PEOPLE.replace(",", "|"), []),
        "colons": (PEOPLE.replace(",", ":"), ["--delimiter", ":"]),
        "spaces": (PEOPLE.replace(",", " "), ["--delimiter", " "]),
        "crlf": (crlf, []),
        "mark": (mark + PEOPLE, []),
        "mark and crlf": (mark + crlf, []),
        "no last line break": (PEOPLE.rstrip(), []),
        "no last crlf": (crlf.rstrip(), []),
        "blank lines": (PEOPLE.replace("Cid", "\nCid") + "\n\n", []),
        "quotes": (quoted, []),
        "mark and quotes": (mark + quoted, []),
        "line breaks in quotes": (PEOPLE.replace("Cid", '"C\ni\r\nd"').replace("flu", '"fl\nu"'), []),
        "quotes in quotes": (PEOPLE.replace("gout", '"go""ut"'), []),
        "decoys": ("name;age;city;ill\nA,B;34;Bern;a,b\nC,D;36;Bern;a,c\nE,F;38;Biel;b,c\n", []),
        "unicode": (PEOPLE.replace("flu", "Grippe – 漢😀").replace("gout", "é\u0301"), []),
        "missing": (PEOPLE.replace("34", "").replace("Biel", ""), []),
        "tokens": (PEOPLE.replace("34", "?").replace("38", "n/a"), []),
        "numbers": (PEOPLE.replace("34", "034").replace("57", "+57").replace("36", "36.0"), ["--levels", "age=1,city=1"]),
    }


def odd_files(cases, inputs):
    """CSV in every dialect, and tables that readers stumble over."""
    bed = inputs.odd
    keys = dict(PEOPLE_KEYS, age='missing = ["?", "n/a"]\n' + PEOPLE_KEYS["age"].replace("integer", "real"))
    policy = bed.policy(policy_text(keys, PEOPLE_ROLES, "k = 1"))
    strict = bed.policy(policy_text(keys, PEOPLE_ROLES, "k = 2"))
    for at, (name, (text, more)) in enumerate(dialects().items()):
        bed.file(f"{at}.csv", text.encode())
        for ending in FORMATS:
            out = f"out.{ending}"
            levels = [] if "--levels" in more else ["--levels", "age=0,city=0"]
            cases.threads("odd files", f"{name} to {ending}", bed, anonymize(f"{at}.csv", policy, *levels, *more, out=out),
                          quick=ending == "csv", each=False)
        if "--levels" not in more:
            for algorithm in ("incognito", "mondrian", "rothko-t", "rothko-s"):
                cases.threads("odd files", f"{name} by {algorithm}", bed,
                              anonymize(f"{at}.csv", strict, *more, "--algorithm", algorithm), quick=algorithm == "incognito", each=False)
    by_key = 'type = "text"'
    for seed, rows, columns in ((1, 1, 1), (2, 7, 3), (3, 300, 4), (4, 20000, 2), (5, 40, 200)):
        delimiter = ",;\t|,"[seed - 1]
        flag = ["--delimiter", "tab" if delimiter == "\t" else delimiter]
        table = nasty_rows(seed, rows, columns)
        bed.file(f"nasty{seed}.csv", delimited(table, delimiter, quoting=csv.QUOTE_ALL).encode())
        policy = bed.policy(policy_text({"key": by_key}, {}, "k = 1"))
        strict = ["--algorithm", "rothko-t", "--sample-tuples", 50, "--fan-out", 2]
        for ending in FORMATS:
            cases.threads("odd files", f"nasty words {seed} to {ending} and back", bed,
                          anonymize(f"nasty{seed}.csv", policy, *flag, "--levels", "key=0", out=f"out.{ending}"),
                          Step("anonymize", f"out.{ending}", "--policy", policy, "-o", "back.csv", "--json", *flag,
                               "--levels", "key=0"),
                          Step("anonymize", f"out.{ending}", "--policy", policy, "-o", "disk.parquet", "--json",
                               *(flag if ending in ("csv", "tsv") else []), *strict),
                          quick=ending in ("parquet", "arrow"), each=rows > 1000)
    lengths = [0, 1, 1000, 1023, 1024, 1025, 70000, 300000]
    bed.file("long.csv", delimited([["key", "text"], *(["same", 'é"' * length] for length in lengths)]).encode())
    policy = bed.policy(policy_text({"key": by_key}, {}, "k = 2"))
    for ending in FORMATS:
        cases.threads("odd files", f"long fields to {ending}", bed, anonymize("long.csv", policy, out=f"out.{ending}"))
    # A column that looks like numbers until late, as a quasi-identifier, as sensitive, and passed on.
    draw = random.Random(11)
    rows = [["q", "r", "s", "x", "day"]]
    for at in range(12000):
        late = at == 11990
        rows.append([draw.randrange(100), f"{draw.randrange(1000) / 8}", "word" if late else draw.randrange(9),
                     "late" if late else at, f"20{draw.randrange(10, 25)}-0{draw.randrange(1, 10)}-1{draw.randrange(10)}"])
    rows[-1][0] = ""
    bed.file("late.csv", delimited(rows))
    rows[11995][0] = "unknown"
    bed.file("later.csv", delimited(rows))
    for table, types in (("late", ""), ("later", ""), ("late", 'type = "integer"')):
        kind = types or "inferred"
        policy = bed.policy(policy_text({"q": types, "r": "", "day": ""}, {"s": "sensitive"},
                                        'k = 20\nl-diversity = { kind = "distinct", l = 2 }'))
        for algorithm in ("incognito", "mondrian", "rothko-t", "rothko-s"):
            more = ["--sample-tuples", 1000, "--fan-out", 4] if "rothko" in algorithm else []
            for ending in ("csv", "arrow"):
                cases.threads("odd files", f"{table}, {kind}, {algorithm} to {ending}", bed,
                              anonymize(f"{table}.csv", policy, "--algorithm", algorithm, *more, out=f"out.{ending}"),
                              quick=ending == "csv" and table == "later", each=ending == "csv")


def typed_columns(cases, folder):
    """Parquet and Arrow files with columns of many types, if pyarrow is there to write them."""
    import datetime
    import decimal
    import pyarrow.ipc
    import pyarrow.parquet

    draw = random.Random(21)
    rows = 3000
    some = lambda make, every=17: [None if draw.randrange(every) == 0 else make() for _ in range(rows)]
    day = lambda: datetime.date(1960, 1, 1) + datetime.timedelta(draw.randrange(20000))
    words = ["flu", "gout", "asthma", "", "漢"]
    columns = {
        "small": pyarrow.array(some(lambda: draw.randrange(90)), pyarrow.int8()),
        "unsigned": pyarrow.array(some(lambda: draw.randrange(60000)), pyarrow.uint16()),
        "whole": pyarrow.array(some(lambda: draw.randrange(-9, 9) * 10**12), pyarrow.int64()),
        "single": pyarrow.array(some(lambda: draw.randrange(100) / 4), pyarrow.float32()),
        "double": pyarrow.array(some(lambda: draw.random() * 1e6), pyarrow.float64()),
        "flag": pyarrow.array(some(lambda: draw.random() < 0.3), pyarrow.bool_()),
        "day": pyarrow.array(some(day), pyarrow.date32()),
        "day64": pyarrow.array(some(day), pyarrow.date64()),
        "word": pyarrow.array(some(lambda: draw.choice(words)), pyarrow.string()),
        "large": pyarrow.array(some(lambda: draw.choice(words) * 2), pyarrow.large_string()),
        "coded": pyarrow.array(some(lambda: draw.choice(words))).dictionary_encode(),
        "moment": pyarrow.array(some(lambda: draw.randrange(10**9)), pyarrow.timestamp("ms")),
        "price": pyarrow.array(some(lambda: decimal.Decimal(draw.randrange(10**6)) / 100), pyarrow.decimal128(10, 2)),
        "raw": pyarrow.array(some(lambda: bytes([97 + draw.randrange(26)] * 3)), pyarrow.binary()),
        "ill": pyarrow.array([draw.choice(words[:3]) for _ in range(rows)], pyarrow.string()),
        "none": pyarrow.array([None] * rows, pyarrow.string()),
    }
    table = pyarrow.table(columns)
    bed = Bed(folder)
    pyarrow.parquet.write_table(table, folder / "one.parquet")
    pyarrow.parquet.write_table(table, folder / "groups.parquet", row_group_size=700, use_dictionary=False, compression="zstd")
    for name, size, packed in (("one", rows, None), ("batches", 257, None), ("lz4", 1000, "lz4"), ("zstd", 999, "zstd")):
        options = pyarrow.ipc.IpcWriteOptions(compression=packed)
        with pyarrow.ipc.new_file(folder / f"{name}.arrow", table.schema, options=options) as file:
            file.write_table(table, max_chunksize=size)
    with pyarrow.ipc.new_stream(folder / "stream.arrow", table.schema) as file:
        file.write_table(table, max_chunksize=500)
    keys = {
        "numbers": ["small", "single"], "days": ["day", "flag"], "words": ["word", "coded"], "large": ["large", "unsigned"],
        "other days": ["day64", "whole"], "double": ["double", "flag"],
    }
    files = ["one.parquet", "groups.parquet", "one.arrow", "batches.arrow", "lz4.arrow", "zstd.arrow", "stream.arrow"]
    for name, chosen in keys.items():
        policy = bed.policy(policy_text({key: "" for key in chosen}, {"ill": "sensitive"}, "k = 5"))
        for at, source in enumerate(files):
            for algorithm in ("incognito", "mondrian", "rothko-t", "rothko-s"):
                more = ["--sample-tuples", 300, "--fan-out", 3] if "rothko" in algorithm else []
                out = f"out.{FORMATS[at % 4]}"
                cases.threads("typed columns", f"{name}, {source} by {algorithm}", bed,
                              anonymize(source, policy, "--algorithm", algorithm, *more, out=out), verify(policy, out=out),
                              quick=algorithm == "mondrian", each=False)
        cases.threads("typed columns", f"{name}, levels", bed,
                      *(anonymize(source, policy, "-k", 1, "--levels", ",".join(f"{key}=0" for key in chosen), out=f"{at}.csv")
                        for at, source in enumerate(files)), quick=True)


def tools(cases, inputs):
    """Commands that make no release."""
    bed = inputs.generated
    for kind, more in (("census", []), ("agrawal", []), ("subset", ["--selection", "uniform"]), ("subset", ["--selection", "biased"])):
        for seed, rows in ((1, 1000), (9, 70), (3, 70000)):
            for ending in ("csv", "parquet", "arrow"):
                cases.add("tools", f"generate {kind} {more[1:]} {rows} {ending}", bed,
                          Step("generate", kind, "--rows", rows, "--seed", seed, "-o", f"t.{ending}", "--json", *more),
                          quick=rows == 70)
    policy = bed.policy(census("k = 5"))
    for name in ("census1", "agrawal1", "biased", "census3"):
        for source in FORMATS:
            cases.threads("tools", f"init {name}.{source}", bed, Step("init", f"in/{name}.{source}", "-o", "new.toml", "--json"),
                          quick=source == "csv", each=False)
    for source in FORMATS:
        for more in ([], ["--threshold", 0.05], ["--population", f"in/census3.{source}"]):
            cases.threads("tools", f"risk of {source} {more[:1]}", bed,
                          Step("risk", f"in/census3.{source}" if more else f"in/census1.{source}", "--policy", policy, "--json",
                               *more), quick=bool(more))
    biased = bed.policy(presence_text('max = 0.1, population = "biased.population.csv"'))
    cases.threads("tools", "risk with a population", bed,
                  Step("risk", "in/biased.csv", "--policy", biased, "--population", "in/biased.population.parquet", "--json"),
                  quick=True)
    for ending in FORMATS:
        out = f"out.{ending}"
        cases.threads("tools", f"a release, its risk and its verification, {ending}", bed,
                      anonymize("census1.csv", policy, out=out), Step("risk", out, "--policy", policy, "--json"),
                      verify(policy, "-k", 2, out=out), quick=True)
    for attribute in ("sex", "age", "zip", "education", "birthplace"):
        for source in FORMATS:
            lay = ["--policy", policy, "--attribute", attribute]
            cases.add("tools", f"hierarchy of {attribute}, {source}", bed,
                      Step("hierarchy", "draw", f"in/census1.{source}", *lay, text=True),
                      Step("hierarchy", "draw", f"in/census1.{source}", *lay, "--all", text=True),
                      Step("hierarchy", "build", f"in/census1.{source}", *lay, "-o", "tree.csv"),
                      Step("hierarchy", "check", "tree.csv", "--json"), Step("hierarchy", "draw", "tree.csv", text=True),
                      quick=source == "arrow")
    bed = inputs.people
    bed.file("days.csv", "zip,day,dose\n130,2024-01-05,0.3\n131,2024-01-07,0.4\n148,2024-02-01,0.5\n149,2024-02-02,0.7\n")
    policy = bed.policy(policy_text({"zip": 'hierarchy = { mask = "left", char = "#" }', "day": 'hierarchy = { dates = ["month", "year"] }',
                                     "dose": "hierarchy = { intervals = [0.5, 1] }"}, {}, "k = 2"))
    for attribute in ("zip", "day", "dose"):
        lay = ["--policy", policy, "--attribute", attribute]
        cases.add("tools", f"hierarchy of {attribute}", bed, Step("hierarchy", "draw", "in/days.csv", *lay, text=True),
                  Step("hierarchy", "build", "in/days.csv", *lay, "-o", "tree.csv"),
                  Step("hierarchy", "check", "tree.csv", "--json"), quick=True)
    cases.threads("tools", "masks, dates and reals", bed, anonymize("days.csv", policy), quick=True)
    dates = bed.policy(policy_text({"zip": 'type = "text"', "day": 'type = "date"\nhierarchy = { intervals = [7, 28] }', "dose": ""},
                                   {}, "k = 2"))
    for algorithm in ("incognito", "mondrian", "rothko-t"):
        cases.threads("tools", f"dates by {algorithm}", bed, anonymize("days.csv", dates, "--algorithm", algorithm), quick=True)
    stakes = ["--prior", 0.07, "--population", 45222, "--table", 1809, "--cost", 10000, "--misuse", 100]
    for more in ([], ["--misuse-below", 200, "--confidence", 0.98]):
        cases.add("tools", f"advise {more[:1]}", bed, Step("advise", *stakes, *more, "--json"), quick=True)


def refusals(cases, inputs):
    """What is refused: with the same status, and with nothing left behind."""

    def refused(name, bed, *steps, files=None, threads=False, quick=True):
        add = cases.threads if threads else cases.add
        add("refusals", name, bed, *steps, files=dict(SPILL, **(files or {})), quick=quick)

    bed = inputs.people
    text = policy_text(PEOPLE_KEYS, PEOPLE_ROLES, "k = 2", default="identifier")
    people = bed.policy(text)
    table = "table.csv"
    # Requirements that cannot be met.
    for algorithm in ("incognito", "mondrian", "s-instant", "m-instant", "rothko-t", "rothko-s", "l-plus-optimize", "annealing"):
        for ending in ("csv", "parquet"):
            refused(f"k of 7 by {algorithm}, {ending}", bed,
                    anonymize(table, people, "-k", 7, "--algorithm", algorithm, out=f"out.{ending}", status=1), threads=True,
                    quick=ending == "csv")
    refused("levels that fail", bed, anonymize(table, people, "--levels", "age=0,city=0", status=1), threads=True)
    refused("the last release stays", bed, anonymize(table, people), anonymize(table, people, "-k", 7, status=1), threads=True)
    refused("a release that fails", bed, anonymize(table, people), verify(people, "-k", 4, status=1), threads=True)
    refused("the table is no release", bed, verify(people, out="in/table.csv", status=1))
    refused("applied rows that fail", bed, anonymize(table, people, "--save-recoding", "r.json"),
            Step("apply", "r.json", "in/table.csv", "--policy", people, "-k", 4, "-o", "again.csv", "--json", status=1), threads=True)
    diverse = bed.policy(text.replace("k = 2", 'k = 2\nl-diversity = { kind = "distinct", l = 4 }\nt-closeness = 0'))
    refused("too diverse", bed, anonymize(table, diverse, status=1))
    closest = bed.policy(text.replace("k = 2", 't-closeness = 0\nthresholds = { default = "1/9" }'))
    refused("caps too low", bed, anonymize(table, closest, status=1))
    tight = bed.policy(text + '\nregions = "tight"\n')
    refused("tight regions saved", bed,
            anonymize(table, tight, "--algorithm", "mondrian", "--save-recoding", "r.json", status=2))
    # Usage.
    for name, more in {
        "keep-order on disk": ["--algorithm", "rothko-s", "--keep-order"], "top without cuts": ["--top", 3],
        "threshold without belief": ["--threshold", 0.5], "no such algorithm": ["--algorithm", "magic"],
        "no such loss": ["--loss", "ml"], "cm without a target": ["--loss", "cm"], "k of 0": ["-k", 0],
        "levels incomplete": ["--levels", "age=1"], "levels unknown": ["--levels", "age=1,cinty=1"],
        "levels too high": ["--levels", "age=9,city=0"], "wrong delimiter": ["--delimiter", ";"],
        "share above 1": ["--suppression", "3/2"], "tiny memory": ["--memory", "1KiB"], "no thread": ["--threads", 0],
        "scheme without cuts": ["--scheme", "all-records"], "nowhere to save": ["--save-recoding", "nowhere/r.json"],
        "summary missing": ["--algorithm", "s-instant", "--summary", "none.json"], "cm by belief": ["--algorithm", "s-instant", "--loss", "cm"],
        "presence flags": ["--sigmas", 2], "unknown flag": ["--frobnicate"],
        "presence algorithm": ["--algorithm", "spalm"],
    }.items():
        refused(name, bed, anonymize(table, people, *more, status=2))
    for out in ("out.xlsx", "nowhere/out.csv", "in/table.csv", "in/city.csv"):
        refused(f"output {out}", bed, anonymize(table, people, out=out, status=2))
    refused("no input", bed, anonymize("nothing.csv", people, status=2))
    refused("no policy", bed, anonymize(table, "in/nothing.toml", status=2))
    # Tables.
    crooked = {
        "empty": "", "only blank lines": "\n\n", "header only": "name,age,city,ill\n",
        "a field less": PEOPLE.replace("Cid,51,Thun,flu", "Cid,51,Thun"), "a field more": PEOPLE.replace("Cid,", "Cid,1,"),
        "open quote": PEOPLE.replace("Cid", '"Cid'), "not UTF-8": PEOPLE.encode().replace(b"Thun", b"Th\xffn"),
        "not a number": PEOPLE.replace("51", "x"), "out of range": PEOPLE.replace("57", "157"),
        "no such city": PEOPLE.replace("Biel", "Genf"), "a column twice": PEOPLE.replace("ill\n", "city\n", 1),
        "a column less": PEOPLE.replace("city", "town"),
    }
    for at, (name, content) in enumerate(crooked.items()):
        bed.file(f"crooked{at}.csv", content)
        for algorithm in ("incognito", "rothko-t"):
            refused(f"{name}, {algorithm}", bed, anonymize(f"crooked{at}.csv", people, "--algorithm", algorithm,
                                                            "--spill-dir", "spill", status=2), threads=algorithm == "rothko-t")
    for ending in ("parquet", "arrow"):
        bed.file(f"text.{ending}", PEOPLE)
        refused(f"text called {ending}", bed, anonymize(f"text.{ending}", people, status=2))
        whole = (inputs.generated.folder / f"census2.{ending}").read_bytes()
        inputs.generated.file(f"half.{ending}", whole[: len(whole) // 2])
        refused(f"half of a {ending} file", inputs.generated,
                anonymize(f"half.{ending}", inputs.generated.policy(census("k = 5")), status=2))
    # Policies.
    for name, (old, new) in {
        "unknown key": ("k = 2", "K = 2"), "no requirement": ("k = 2", ""), "k of 0": ("k = 2", "k = 0"), "not TOML": ("k = 2", "k == 2"),
        "no such role": ('"sensitive"', '"secret"'), "no such type": ('"integer"', '"int"'), "no hierarchy": ("city.csv", "nothing.csv"),
        "crooked intervals": ("[10, 20]", "[10, 15]"), "t above 1": ("k = 2", "t-closeness = 2"),
        "variance of text": ("k = 2", "variance = 3"), "cap for nothing": ("k = 2", 'thresholds = { flue = "1/2" }'),
        "no such kind": ("k = 2", 'l-diversity = { kind = "median", l = 2 }'), "l without kind": ("k = 2", "l-diversity = { l = 2 }"),
        "distribution without target": ("k = 2", 'distribution = { attribute = "ill" }'),
        "presence of nothing": ("k = 2", "presence = { max = 0.1 }"), "confidence above 1":
            ("k = 2", 'presence = { max = 0.1, confidence = 2, marginals = "city.csv" }'),
        "a column that is not there": ("[attributes.\"age\"]", "[attributes.\"agee\"]"),
        "split without target": ("[search]", '[search]\nalgorithm = "mondrian"\nsplit = "info-gain"'),
        "scheme of cuts": ("[search]", '[search]\nsuppression = { scheme = "all-values" }'),
        "entropy over cuts": ("k = 2", 'l-diversity = { kind = "entropy", l = 2 }\n[search]\nalgorithm = "l-plus-optimize"\n#'),
    }.items():
        assert old in text, old
        changed = text.replace(old, new, 1)
        if "\n#" in new:
            changed = changed.replace("#\n[search]", "\n")
        refused(name, bed, anonymize(table, bed.policy(changed), status=2))
    # Other commands.
    bed.file("twice.csv", "a;x;*\nb;y;*\na;x;*\n")
    refused("a leaf twice", bed, Step("hierarchy", "check", "in/twice.csv", "--json", status=2))
    refused("a tree that is there", bed, Step("hierarchy", "build", "in/table.csv", "--policy", people, "-a", "age", "-o", "mine.csv", status=2),
            files={"mine.csv": "mine"})
    refused("a policy that is there", bed, Step("init", "in/table.csv", "-o", "mine.toml", status=2), files={"mine.toml": "mine"})
    refused("a broken recoding", bed, Step("apply", "r.json", "in/table.csv", "--policy", people, "-o", "out.csv", "--json", status=2),
            files={"r.json": '{"model": "full-domain"}'})
    refused("a broken summary", bed, Step("estimate", "--summary", "s.json", "--policy", people, "--json", status=2), files={"s.json": "[]"})
    refused("rows of a histogram", bed, Step("summarize", "in/table.csv", "--policy", people, "-o", "s.json", "--rows", 3, status=2))
    refused("a prior of 2", bed, Step("advise", "--prior", 2, "--population", 10, "--table", 1, "--cost", 1, "--misuse", 0, "--json", status=2))
    bed = inputs.generated
    for name, privacy, more, status in (
        ("range too narrow", 'max = 0.001, population = "uniform.population.csv"', [], 1),
        ("range too narrow for marginals", 'max = 0.03, confidence = 0.9, marginals = "uniform.marginals.csv"', [], 1),
        ("suppression", 'max = 0.1, population = "uniform.population.csv"', ["--suppression", "0.05"], 2),
        ("sfalm of a population", 'max = 0.1, population = "uniform.population.csv"', ["--algorithm", "sfalm"], 2),
        ("incognito", 'max = 0.1, population = "uniform.population.csv"', ["--algorithm", "incognito"], 2),
        ("no such population", 'max = 0.1, population = "nobody.csv"', [], 2),
        ("the wrong world", 'max = 0.1, population = "census2.csv"', [], 2),
    ):
        refused(f"presence, {name}", bed, anonymize("uniform.csv", bed.policy(presence_text(privacy)), *more, status=status),
                threads=status == 1)
    numbers = bed.policy(agrawal("k = 1000000"))
    for algorithm in ("rothko-t", "rothko-s"):
        refused(f"more than all rows, {algorithm}", bed,
                anonymize("agrawal2.parquet", numbers, "--algorithm", algorithm, "--sample-tuples", 1000, "--spill-dir", "spill", status=1),
                threads=True)
    plain = bed.policy(agrawal("k = 100"))
    many = bed.read("many.csv")
    bed.file("twice.csv", many + many[many.index("\n") + 1 :])
    refused("too large for memory", bed, anonymize("twice.csv", plain, "--algorithm", "mondrian", "--memory", "16MiB", status=3))
    refused("a network too large", bed, Step("summarize", "in/many.csv", "--policy", plain, "-o", "s.json", "--kind", "bayes",
                                             "--memory", "16MiB", "--json", status=3))
    bed = inputs.salaries
    release = anonymize("employees.csv", "in/policy.toml", out="out")
    refused("a folder that is not a release", bed, anonymize("employees.csv", "in/policy.toml", out="mine", status=2),
            files={"mine/letter.txt": "mine"})
    refused("a tampered folder", bed, release, verify("in/policy.toml", "--original", "in/others.csv", out="out", status=1))
    bed.file("others.csv", bed.read("employees.csv").replace("Jason,91310,M,40000", "Jason,91311,M,40000"))
    for query in ("DELETE FROM e", "SELECT STDDEV(salary) FROM e", "SELECT AVG(salary) FROM e LIMIT 1", "SELECT AVG(zipcode) FROM e"):
        refused(f"query {query}", bed, release, Step("query", "out", query, "--json", status=2), quick=False)
    changed = bed.read("policy.toml").replace("[privacy.distribution]", "[privacy]\nk = 12\n\n[privacy.distribution]")
    refused("classes that cannot be", bed, anonymize("employees.csv", bed.policy(changed.replace("groups = { zipcode = 2 }", "")),
                                                    out="out", status=1), threads=True)


SEVEN = ["age", "education", "native-country", "workclass", "marital-status", "sex", "race"]


def adult(cases, folder, adult_folder):
    """The Adult table, as the README and docs/experiments.md use it."""
    bed = Bed(folder)
    for path in adult_folder.glob("*.csv"):
        shutil.copyfile(path, folder / path.name)
    tree = lambda key: f'hierarchy = "adult_hierarchy_{key}.csv"'
    seven = {key: tree(key) for key in SEVEN}
    nine = {**seven, "occupation": tree("occupation"), "salary-class": tree("salary-class")}
    roles = {"occupation": "sensitive", "salary-class": "target"}
    recursive = 'k = 5\nl-diversity = { kind = "recursive", l = 4, c = 3 }'
    for name, keys, privacy, share in (("k=5", seven, "k = 5", "0"), ("k=5, 5 %", seven, "k = 5", "0.05"),
                                       ("recursive", seven, recursive, "0.05"), ("nine", nine, "k = 5", "0.05")):
        policy = bed.policy(policy_text(keys, {} if keys is nine else roles, privacy, f"suppression = {{ limit = {share} }}"))
        for ending in FORMATS:
            out = f"out.{ending}"
            cases.threads("adult", f"{name}, {ending}", bed, anonymize("adult.csv", policy, out=out), verify(policy, out=out),
                          quick=ending == "csv")
    numbers = {**seven, "age": ""}
    for split in ("median", "info-gain"):
        for regions in ("tight", "cover"):
            search = f'split = "{split}"\nregions = "{regions}"'
            policy = bed.policy(policy_text(numbers, roles, "k = 10", search))
            for algorithm in ("mondrian", "rothko-t", "rothko-s"):
                more = ["--sample-tuples", 4000, "--fan-out", 4] if "rothko" in algorithm else []
                cases.threads("adult", f"{algorithm}, {split}, {regions}", bed,
                              anonymize("adult.csv", policy, "--algorithm", algorithm, *more), verify(policy),
                              quick=split == "median" and regions == "tight")
    policy = bed.policy(policy_text(seven, roles, "k = 10"))
    for algorithm in ("s-instant", "m-instant"):
        for kind in ("histogram", "bayes", "sample"):
            cases.threads("adult", f"{algorithm} by {kind}", bed,
                          anonymize("adult.csv", policy, "--algorithm", algorithm, "--summary-kind", kind), quick=kind == "bayes")
    policy = bed.policy(policy_text(seven, roles, 'thresholds = { default = "1/5" }',
                                    'algorithm = "l-plus-optimize"\nsuppression = { scheme = "violating-records" }'))
    cases.threads("adult", "l-plus-optimize", bed, anonymize("adult.csv", policy, "--seed", 1), verify(policy))
    policy = bed.policy(policy_text({key: "" for key in SEVEN[1:]}, {"age": 'sensitive\ntype = "integer"'},
                                    'distribution = { attribute = "age", target = "uniform", groups = ["sex", "race"], fakes = "5%" }'))
    cases.threads("adult", "distribution of ages", bed, anonymize("adult.csv", policy, out="out"),
                  verify(policy, "--original", "in/adult.csv", out="out"), quick=True)


def collect(folder, checkout, program, adult_folder, quick):
    """All cases, their inputs written to a folder, and what was skipped and why."""
    cases, inputs, skipped = Cases(quick), Inputs(folder, pathlib.Path(checkout), program), []
    groups = [examples, formats, requirements, searches, saved, cuts, presence, distributions, on_disk, believed, odd_files, tools,
              refusals]
    for group in groups:
        group(cases, inputs)
    if (adult_folder / "adult.csv").is_file():
        adult(cases, folder / "adult", adult_folder)
    else:
        skipped.append(f"there is no Adult table in {adult_folder}: no case ran on it")
    if pyarrow:
        typed_columns(cases, folder / "typed")
    else:
        skipped.append("there is no Python package pyarrow: no columns of other types than those of `generate`")
    for number, case in enumerate(cases.all):
        case.number = number
    return cases.all, skipped
