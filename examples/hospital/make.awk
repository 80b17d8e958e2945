# The admissions of a hospital that does not exist: awk -f make.awk > patients.csv
#
# Dates and decimals are written as in Germany. Diagnoses depend on age and sex; stay, CRP and discharge depend on the
# diagnosis. All arithmetic is in whole numbers below 2^53, so every awk writes the same bytes.

BEGIN {
    seed = 20250101
    load()
    print "patient_id;birth_date;sex;postcode;admitted;days;crp;diagnosis;discharge"
    for (row = 1; row <= 3000; row++) patient(row)
}

# A random whole number below n (Park and Miller's generator).
function below(n) {
    seed = (seed * 16807) % 2147483647
    return seed % n
}

# The sum of a few draws: most numbers are in the middle.
function around(low, high,    third) {
    third = int((high - low) / 3) + 1
    return low + below(third) + below(third) + below(third)
}

# code, share among the young, the middle-aged and the old (per 1000), share of women (percent), days, CRP, deaths (per 1000)
function load(    text, lines, fields, i) {
    text = \
        "A09 90 25 20 50 3 30 2|A41 6 18 45 45 12 180 190|B20 3 6 1 25 9 40 30|" \
        "C18 1 22 40 45 11 25 60|C34 1 20 30 40 10 45 150|C50 2 35 22 99 6 8 15|" \
        "E10 30 14 6 48 5 8 5|E11 2 45 60 46 7 15 12|" \
        "F10 45 60 12 27 8 10 4|F20 40 25 6 42 24 5 2|F32 75 60 20 62 19 5 2|" \
        "I10 2 35 45 55 4 6 3|I21 2 60 80 35 8 20 70|I50 1 35 190 50 10 22 85|I63 2 30 85 47 13 18 75|" \
        "J18 40 40 110 45 9 130 80|J44 1 45 70 42 9 35 50|J45 50 20 6 55 4 12 1|" \
        "K35 140 45 10 48 4 85 1|K52 85 40 30 53 4 25 2|K80 25 90 50 63 5 50 5|" \
        "S06 110 45 50 42 3 6 15|S52 120 50 45 56 3 4 1|S72 15 30 75 70 13 45 35"
    diseases = split(text, lines, "|")
    for (i = 1; i <= diseases; i++) {
        split(lines[i], fields, " ")
        code[i] = fields[1]
        for (group = 1; group <= 3; group++) {
            share[group, i] = fields[1 + group]
            total[group] += fields[1 + group]
        }
        women[i] = fields[5]; stay[i] = fields[6]; protein[i] = fields[7]; deaths[i] = fields[8]
    }
    places = split("01067 01069 01097 01099 01109 01127 01139 01159 01169 01187 01219 01237 01257 01277 01307 01309 " \
        "01324 01445 01465 01640 01662 01705 01737 01809 01844 01917 02625 02708 02826 02977", postcode, " ")
}

function draw(group,    left, i) {
    left = below(total[group])
    for (i = 1; left >= share[group, i]; i++) left -= share[group, i]
    return i
}

# Day numbers count from 1 March of year 0.
function day_of(year, month, day) {
    if (month < 3) { year--; month += 12 }
    return 365 * year + int(year / 4) - int(year / 100) + int(year / 400) + int((153 * (month - 3) + 2) / 5) + day - 1
}

function date_of(number,    year, rest, month) {
    year = int((10000 * number + 14780) / 3652425)
    rest = number - day_of(year, 3, 1)
    if (rest < 0) { year--; rest = number - day_of(year, 3, 1) }
    month = int((100 * rest + 52) / 3060)
    return sprintf("%02d.%02d.%04d", rest - int((153 * month + 2) / 5) + 1, (month + 2) % 12 + 1,
        year + int((month + 2) / 12))
}

function patient(row,    age, group, i, admitted, born, sex, days, tenths, crp, fate, discharge) {
    group = below(100)
    group = group < 18 ? 1 : group < 55 ? 2 : 3
    age = group == 1 ? 16 + below(20) : group == 2 ? around(36, 68) : around(64, 97)
    i = draw(group)
    sex = below(100) < women[i] ? "f" : "m"
    admitted = day_of(2025, 1, 1) + below(365)
    born = admitted - int(age * 36525 / 100) - below(365)
    days = 1 + int(stay[i] * (30 + below(150)) / 100)
    tenths = int(protein[i] * 10 * (20 + below(180)) / 100) + 1
    crp = below(100) < 4 ? "n/a" : int(tenths / 10) "," tenths % 10
    fate = below(1000)
    discharge = fate < deaths[i] ? "died" : fate < deaths[i] + 12 * stay[i] ? "transferred" : "home"
    printf "P%05d;%s;%s;%s;%s;%d;%s;%s;%s\n", 10000 + row, date_of(born), sex,
        postcode[1 + int(below(places * places) / places)], date_of(admitted), days, crp, code[i], discharge
}
