_scorer_measures() {
    compset -P '*,'
    compadd -- <measures>
}
