//! Simulated annealing over cuts.
