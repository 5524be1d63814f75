# bash completion for countersign, made from its table of commands
_countersign() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} command= words= files= i
  COMPREPLY=()
  case $prev in --root|--policy|--path|--home) COMPREPLY=($(compgen -f -- "$cur")); return ;; esac
  for ((i = 1; i < COMP_CWORD; i++)); do
    case ${COMP_WORDS[i]} in screen|demo|up|propose|commit|read|ls|glob|stat|grep|git|await|withdraw|pending|show|approve|deny|undo|log|verify|status|watch|notify|person|agent|policy) command=${COMP_WORDS[i]}; break ;; esac
  done
  case $command in
  '') words='screen demo up propose commit read ls glob stat grep git await withdraw pending show approve deny undo log verify status watch notify person agent policy --help --root' ;;
  screen) words='--plain --help --root' ;;
  demo) words='--yes --keep --help --root' ;;
  up) words='--policy --person --agent --keeper-uid --json --help --root' ;;
  propose) words='--nonce --json --help --root'; files=yes ;;
  commit) words='--message --say --json --help --root' ;;
  read) words='--person --from --lines --json --help --root' ;;
  ls) words='--person --recursive --all --after --limit --json --help --root' ;;
  glob) words='--person --path --kind --all --after --limit --json --help --root' ;;
  stat) words='--person --json --help --root' ;;
  grep) words='--person --ignore-case --word --fixed --context --files --count --include --exclude --after-line --all --after --limit --json --help --root' ;;
  git)
    case $((i + 1 < COMP_CWORD)),${COMP_WORDS[i+1]} in
    1,status) words='--person --json --skip --limit --help --root' ;;
    1,log) words='--person --json --rev --not --path --skip --limit --help --root' ;;
    1,diff) words='--person --json --from --to --index --path --names --skip --limit --help --root' ;;
    1,show) words='--person --json --rev --path --names --skip --limit --help --root' ;;
    1,blame) words='--person --json --rev --from --lines --help --root' ;;
    1,branches) words='--person --json --skip --limit --help --root' ;;
    *) words='status log diff show blame branches' ;;
    esac ;;
  await) words='--json --help --root' ;;
  withdraw) words='--json --help --root' ;;
  pending) words='--json --help --root' ;;
  show) words='--json --help --root'" $(countersign pending 2>/dev/null | grep -Eo '^[0-9-]+ [0-9:]+  [a-z2-9]{13}' | grep -Eo '[a-z2-9]{13}$')" ;;
  approve) words='--json --help --root' ;;
  deny) words='--why --json --help --root'" $(countersign pending 2>/dev/null | grep -Eo '^[0-9-]+ [0-9:]+  [a-z2-9]{13}' | grep -Eo '[a-z2-9]{13}$')" ;;
  undo) words='--yes --json --help --root'" $(countersign log 2>/dev/null | grep -Eo '^[0-9-]+ [0-9:]+  [a-z2-9]{13}' | grep -Eo '[a-z2-9]{13}$')" ;;
  log) words='--limit --before --refused --agent --path --kind --state --since --until --json --help --root' ;;
  verify) words='--json --help --root' ;;
  status) words='--json --help --root' ;;
  watch) words='--json --help --root' ;;
  notify) words='--help --root' ;;
  person)
    case $((i + 1 < COMP_CWORD)),${COMP_WORDS[i+1]} in
    1,add) words='--policy --dry-run --home --agent --help --root' ;;
    1,remove) words='--policy --dry-run --help --root' ;;
    *) words='add remove' ;;
    esac ;;
  agent)
    case $((i + 1 < COMP_CWORD)),${COMP_WORDS[i+1]} in
    1,add) words='--policy --dry-run --person --help --root' ;;
    1,remove) words='--policy --dry-run --help --root' ;;
    *) words='add remove' ;;
    esac ;;
  policy)
    case $((i + 1 < COMP_CWORD)),${COMP_WORDS[i+1]} in
    1,check) words='--help --root'; files=yes ;;
    1,explain) words='--policy --as --json --stands --mode --lost --lands --alias --help --root'; files=yes ;;
    *) words='check explain' ;;
    esac ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
  [ -z "$files" ] || COMPREPLY+=($(compgen -f -- "$cur"))
}
complete -o filenames -F _countersign countersign
