//! Names for columns that have none, or the name of another column.

use arrow_schema::{Field, Schema, SchemaRef};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// The same columns with a name of its own for each: the second `x` is `x_2`, a third column
/// without a name is `column_3`, and a name that another column has anyway is passed over.
pub(super) fn unique(schema: &SchemaRef) -> SchemaRef {
    let fields = schema.fields();
    let given: HashSet<&str> = fields.iter().map(|field| field.name().as_str()).collect();
    let mut taken: HashSet<String> = HashSet::new();
    // The number that is tried next for a name: thousands of columns may have the same one.
    let mut next: HashMap<String, usize> = HashMap::new();
    let mut name = |(position, field): (usize, &Arc<Field>)| {
        let mut own = field.name().clone();
        let mut is_free = !own.is_empty() && !taken.contains(&own);
        if own.is_empty() {
            own = format!("column_{}", position + 1);
            is_free = !taken.contains(&own) && !given.contains(own.as_str());
        }
        let mut free = own.clone();
        let number = next.entry(own.clone()).or_insert(2);
        while !is_free {
            free = format!("{own}_{number}");
            *number += 1;
            is_free = !taken.contains(&free) && !given.contains(free.as_str());
        }
        taken.insert(free.clone());
        Arc::new(field.as_ref().clone().with_name(free))
    };
    let fields: Vec<Arc<Field>> = fields.iter().enumerate().map(&mut name).collect();
    Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_schema::DataType;

    #[test]
    fn every_column_gets_a_name_of_its_own() {
        let renamed = |names: &[&str]| {
            let fields = names.iter().map(|name| Field::new(*name, DataType::Utf8, true));
            let schema = unique(&Arc::new(Schema::new(fields.collect::<Vec<_>>())));
            schema.fields().iter().map(|field| field.name().clone()).collect::<Vec<_>>()
        };
        assert_eq!(renamed(&["a", "b"]), ["a", "b"]);
        assert_eq!(renamed(&["x", "x", "x"]), ["x", "x_2", "x_3"]);
        assert_eq!(renamed(&["x", "x", "x_2"]), ["x", "x_3", "x_2"]);
        assert_eq!(renamed(&["x_2", "x_2", "x", "x"]), ["x_2", "x_2_2", "x", "x_3"]);
        assert_eq!(renamed(&["", "a", ""]), ["column_1", "a", "column_3"]);
        assert_eq!(renamed(&["", "column_1", ""]), ["column_1_2", "column_1", "column_3"]);
    }
}
