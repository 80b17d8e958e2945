//! What does the name of a column say? In English, German, French and Spanish.
//!
//! A name is split where its style separates words: `patientId`, `patient_id`, `Patienten-ID`.
//! Letters lose their accents, and umlauts become two letters. A term is found if its words stand
//! in the name one after the other, or if it is the whole name without spaces (`patientid`). A long
//! term is also found at the beginning or the end of a word, as in `Hauptdiagnose`.

/// What a column is about, as far as its name tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    /// It identifies a person directly.
    Identifier,
    /// It does so if nearly every row has its own value, or if the name says nothing else.
    MaybeIdentifier,
    /// A date of birth.
    Birth,
    /// A postal code.
    PostalCode,
    /// Something that nobody should learn about a person.
    Sensitive,
    /// Something that many people know about a person.
    Known,
}

/// What is meant, what reasons call it, and its terms.
type Terms = (Meaning, &'static str, &'static [&'static str]);

/// The first that fits counts.
const TERMS: &[Terms] = &[
    (
        Meaning::Birth,
        "a date of birth",
        &[
            "birth date",
            "date of birth",
            "dob",
            "birthday",
            "birth year",
            "year of birth",
            "geburtsdatum",
            "geburtstag",
            "geb datum",
            "gebdat",
            "geburtsjahr",
            "date naissance",
            "date de naissance",
            "naissance",
            "fecha nacimiento",
            "fecha de nacimiento",
            "nacimiento",
        ],
    ),
    (
        Meaning::PostalCode,
        "a postal code",
        &[
            "zip",
            "zipcode",
            "plz",
            "postleitzahl",
            "postcode",
            "post code",
            "postal code",
            "postal",
            "code postal",
            "codigo postal",
            "cp",
        ],
    ),
    (
        Meaning::Identifier,
        "a name",
        &[
            "surname",
            "last name",
            "first name",
            "given name",
            "family name",
            "full name",
            "middle name",
            "maiden name",
            "patient name",
            "vorname",
            "nachname",
            "familienname",
            "geburtsname",
            "prenom",
            "nom de famille",
            "apellido",
            "apellidos",
        ],
    ),
    (
        Meaning::Identifier,
        "a way to reach a person",
        &[
            "email",
            "e mail",
            "mail",
            "correo",
            "courriel",
            "phone",
            "telephone",
            "telefon",
            "telefono",
            "tel",
            "mobile",
            "handy",
            "fax",
            "address",
            "adresse",
            "anschrift",
            "direccion",
            "domicilio",
            "street",
            "strasse",
            "hausnummer",
            "house number",
            "rue",
            "calle",
            "ip",
            "url",
            "website",
        ],
    ),
    (
        Meaning::Identifier,
        "a number of a person",
        &[
            "ssn",
            "social security",
            "sozialversicherungsnummer",
            "versichertennummer",
            "versicherungsnummer",
            "versicherten nr",
            "kvnr",
            "nhs number",
            "mrn",
            "medical record",
            "insurance number",
            "numero securite sociale",
            "nir",
            "iban",
            "kontonummer",
            "account number",
            "account id",
            "account no",
            "credit card",
            "card number",
            "kreditkarte",
            "passport",
            "passnummer",
            "reisepass",
            "pasaporte",
            "passeport",
            "ausweis",
            "dni",
            "nif",
            "nie",
            "steuernummer",
            "steuer id",
            "tax id",
            "driver license",
            "driving licence",
            "license plate",
            "nummernschild",
            "username",
            "user name",
            "user id",
            "login",
            "patient id",
            "pid",
            "pat id",
            "subject id",
            "patient no",
            "patient number",
            "patienten id",
            "patientennummer",
            "patienten nr",
            "fallnummer",
            "case id",
            "case number",
            "person id",
            "person number",
            "personennummer",
            "member id",
            "customer id",
            "customer number",
            "client id",
            "kundennummer",
            "kunden id",
            "employee id",
            "employee number",
            "personalnummer",
            "mitarbeiternummer",
            "matrikelnummer",
            "student id",
            "uuid",
            "guid",
            "numero patient",
            "id paciente",
        ],
    ),
    (
        Meaning::Sensitive,
        "a diagnosis or an illness",
        &[
            "diagnosis",
            "diagnoses",
            "diagnose",
            "diagnosen",
            "diagnostic",
            "diagnostico",
            "icd",
            "icd10",
            "icd 10",
            "disease",
            "illness",
            "ill",
            "condition",
            "krankheit",
            "erkrankung",
            "maladie",
            "enfermedad",
            "symptom",
            "symptoms",
            "symptome",
            "sintoma",
            "hiv",
            "aids",
            "cancer",
            "krebs",
            "tumor",
            "tumour",
            "cause of death",
            "todesursache",
            "allergy",
            "allergies",
            "allergie",
            "alergia",
            "disability",
            "behinderung",
            "handicap",
            "discapacidad",
            "pregnancy",
            "pregnant",
            "schwangerschaft",
            "schwanger",
            "mental health",
            "addiction",
            "sucht",
            "mutation",
            "genotype",
        ],
    ),
    (
        Meaning::Sensitive,
        "a treatment",
        &[
            "medication",
            "medikament",
            "medikation",
            "medicament",
            "medicamento",
            "drug",
            "treatment",
            "therapy",
            "therapie",
            "traitement",
            "tratamiento",
            "behandlung",
            "procedure",
            "prozedur",
            "surgery",
            "operation",
        ],
    ),
    (
        Meaning::Sensitive,
        "income or wealth",
        &[
            "salary",
            "salaries",
            "gehalt",
            "lohn",
            "salaire",
            "salario",
            "sueldo",
            "income",
            "einkommen",
            "revenu",
            "ingreso",
            "ingresos",
            "wage",
            "wages",
            "debt",
            "schulden",
            "dette",
            "deuda",
            "credit score",
            "bonitaet",
            "balance",
            "kontostand",
            "net worth",
            "vermoegen",
        ],
    ),
    (
        Meaning::Sensitive,
        "a belief or a conviction",
        &[
            "religion",
            "konfession",
            "confession",
            "political party",
            "party affiliation",
            "partei",
            "vote",
            "trade union",
            "union membership",
            "gewerkschaft",
            "syndicat",
            "sexual orientation",
            "orientation sexuelle",
            "orientacion sexual",
            "crime",
            "conviction",
            "vorstrafe",
            "verurteilung",
            "offence",
            "offense",
        ],
    ),
    (Meaning::Sensitive, "an occupation", &["occupation"]),
    (
        Meaning::Known,
        "a person's sex",
        &["sex", "gender", "geschlecht", "sexe", "genre", "sexo", "genero"],
    ),
    (Meaning::Known, "a person's age", &["age", "alter", "edad"]),
    (
        Meaning::Known,
        "where a person lives or comes from",
        &[
            "country",
            "nationality",
            "nationalitaet",
            "staatsangehoerigkeit",
            "nationalite",
            "nacionalidad",
            "pays",
            "pais",
            "city",
            "town",
            "ort",
            "wohnort",
            "stadt",
            "ville",
            "ciudad",
            "municipality",
            "gemeinde",
            "commune",
            "municipio",
            "region",
            "state",
            "bundesland",
            "county",
            "kanton",
            "canton",
            "departement",
            "provincia",
            "birthplace",
            "place of birth",
            "geburtsort",
        ],
    ),
    (
        Meaning::Known,
        "a person's family",
        &[
            "marital",
            "familienstand",
            "situation familiale",
            "estado civil",
            "relationship",
            "children",
            "kinder",
            "enfants",
            "hijos",
        ],
    ),
    (Meaning::Known, "a person's education", &["education", "bildung", "schulabschluss"]),
    (Meaning::Known, "a person's origin", &["race", "ethnicity"]),
    (
        Meaning::MaybeIdentifier,
        "a name or a number",
        &[
            "id",
            "name",
            "nom",
            "nombre",
            "nummer",
            "number",
            "nr",
            "no",
            "num",
            "numero",
            "key",
            "identifier",
            "kennung",
            "record",
        ],
    ),
];

/// Terms of this length are also found inside longer words.
const LONG: usize = 6;

/// What a name says, what reasons call it, and whether it says nothing else.
pub(super) fn meaning(name: &str) -> Option<(Meaning, &'static str, bool)> {
    let words = words(name);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let joined = words.concat();
    TERMS.iter().find_map(|(meaning, called, terms)| {
        let is_said = terms.iter().any(|term| is_in(term, &words, &joined));
        is_said.then_some((*meaning, *called, words.len() == 1))
    })
}

fn is_in(term: &str, words: &[&str], joined: &str) -> bool {
    let parts: Vec<&str> = term.split(' ').collect();
    let ends = |word: &&str| {
        term.len() >= LONG
            && !term.contains(' ')
            && (word.starts_with(term) || word.ends_with(term))
    };
    words.windows(parts.len()).any(|window| window == parts)
        || parts.concat() == joined
        || words.iter().any(ends)
}

/// The words of a name, in lower case and without accents. Digits stay with the letters before
/// them.
fn words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = vec![String::new()];
    let mut before = ' ';
    let characters: Vec<char> = name.chars().collect();
    for (at, character) in characters.iter().enumerate() {
        let next_is_lower = characters.get(at + 1).is_some_and(|next| next.is_lowercase());
        let begins = character.is_uppercase()
            && (before.is_lowercase() || before.is_uppercase() && next_is_lower);
        if !character.is_alphanumeric() || begins {
            words.push(String::new());
        }
        if let (true, Some(word)) = (character.is_alphanumeric(), words.last_mut()) {
            character.to_lowercase().for_each(|lower| push_plain(word, lower));
        }
        before = *character;
    }
    words.retain(|word| !word.is_empty());
    words
}

fn push_plain(word: &mut String, letter: char) {
    let plain = match letter {
        'ä' | 'æ' => "ae",
        'ö' | 'œ' => "oe",
        'ü' => "ue",
        'ß' => "ss",
        'à' | 'á' | 'â' | 'ã' => "a",
        'è' | 'é' | 'ê' | 'ë' => "e",
        'ì' | 'í' | 'î' | 'ï' => "i",
        'ò' | 'ó' | 'ô' | 'õ' => "o",
        'ù' | 'ú' | 'û' => "u",
        'ç' => "c",
        'ñ' => "n",
        // Marks that follow a letter.
        '\u{300}'..='\u{36f}' => "",
        letter => return word.push(letter),
    };
    word.push_str(plain);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_split_into_words() {
        let cases = [
            ("patientId", "patient id"),
            ("PATIENT_ID", "patient id"),
            ("HTTPServer", "http server"),
            ("Straße", "strasse"),
            ("Größe (cm)", "groesse cm"),
            ("prénom", "prenom"),
            ("icd10.code", "icd10 code"),
        ];
        for (name, expected) in cases {
            assert_eq!(words(name).join(" "), expected, "{name}");
        }
    }

    #[test]
    fn names_say_what_a_column_is() {
        use Meaning::*;
        let cases = [
            ("name", Some(MaybeIdentifier)),
            ("LastName", Some(Identifier)),
            ("Vorname", Some(Identifier)),
            ("prénom", Some(Identifier)),
            ("Apellidos", Some(Identifier)),
            ("e-mail", Some(Identifier)),
            ("Telefonnummer", Some(Identifier)),
            ("patientid", Some(Identifier)),
            ("Versichertennummer", Some(Identifier)),
            ("Geburtsdatum", Some(Birth)),
            ("birth_date", Some(Birth)),
            ("birthDate", Some(Birth)),
            ("fecha_nacimiento", Some(Birth)),
            ("PLZ", Some(PostalCode)),
            ("code postal", Some(PostalCode)),
            ("Hauptdiagnose", Some(Sensitive)),
            ("ICD-10", Some(Sensitive)),
            ("Gehalt", Some(Sensitive)),
            ("enfermedad", Some(Sensitive)),
            ("disease_name", Some(Sensitive)),
            ("Geschlecht", Some(Known)),
            ("country_name", Some(Known)),
            ("lab_1", None),
            ("image", None),
            ("village", None),
            ("hours", None),
        ];
        for (name, expected) in cases {
            assert_eq!(meaning(name).map(|(meaning, ..)| meaning), expected, "{name}");
        }
    }
}
