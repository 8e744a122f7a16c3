# Quotes the beginning of a path, which may have spaces.
_shtab_compgen_files() { compgen -f -- "$1"; }
_shtab_compgen_dirs() { compgen -d -- "$1"; }

# Joins the words that bash splits at "@" and ":", and leaves out "=" after an option.
_scorer() {
    local -a typed=("${COMP_WORDS[@]:0:COMP_CWORD+1}")
    local -a COMP_WORDS=()
    local COMP_CWORD=-1 word last= before=
    for word in "${typed[@]}"; do
        if [[ $word == "=" && ${COMP_WORDS[COMP_CWORD]} == --* ]]; then
            COMP_WORDS[++COMP_CWORD]=
        elif [[ $last == "=" && -z ${COMP_WORDS[COMP_CWORD]} ]]; then
            COMP_WORDS[COMP_CWORD]=$word
        elif [[ $word == [@:=] || $last == [@:=] ]]; then
            COMP_WORDS[COMP_CWORD]+=$word
        else
            COMP_WORDS[++COMP_CWORD]=$word
        fi
        last=$word
    done
    _shtab_scorer
    # bash replaces a word from its last "@" on.
    before=${COMP_WORDS[COMP_CWORD]%"$last"}
    COMPREPLY=("${COMPREPLY[@]#"${before%@}"}")
}
complete -F _scorer scorer
