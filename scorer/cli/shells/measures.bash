_scorer_measures() {
    compgen -P "${1%"${1##*,}"}" -W '<measures>' -- "${1##*,}"
}
