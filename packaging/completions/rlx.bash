# Completions of rlx for bash. Made by tools/make_cli_docs from the option tables of the command.
_rlx() {
  local word=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]} options=
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "ops graph eval devices plan run compare conform bench trace onnx-test info check convert tokenize generate chat pull embed rerank perplexity imatrix logits serve help" -- "$word"))
    return
  fi
  case $command in
    ops) options='--json --device --threads --memory --time-limit -q -v -h --help' ;;
    graph) options='--pass --without --dim --input --before --each --report --dot --passes --json --device --threads --memory --time-limit -q -v -h --help' ;;
    eval) options='--input --dim --random --out --pass --without --json --device --threads --memory --time-limit -q -v -h --help' ;;
    devices) options='--json --device --threads --memory --time-limit -q -v -h --help' ;;
    plan) options='--dim --input --svg --dispatch --context --without --exact --fast-conv --fast-f16 --no-host --no-views --no-in-place --no-reorder --no-search --csv --capacity --budget --out --json --device --threads --memory --time-limit -q -v -h --help' ;;
    run) options='--input --dim --random --without --exact --fast-conv --fast-f16 --no-host --out --dump --json --device --threads --memory --time-limit -q -v -h --help' ;;
    compare) options='--input --dim --random --without --exact --fast-conv --fast-f16 --no-host --json --device --threads --memory --time-limit -q -v -h --help' ;;
    conform) options='--op --exact --fast-conv --fast-f16 --json --device --threads --memory --time-limit -q -v -h --help' ;;
    bench) options='--input --dim --random --without --exact --fast-conv --fast-f16 --no-host -p -n -d -b -t -r -o --json --device --threads --memory --time-limit -q -v -h --help' ;;
    trace) options='--input --dim --random --without --exact --fast-conv --fast-f16 --no-host -o --warm-up --json --device --threads --memory --time-limit -q -v -h --help' ;;
    onnx-test) options='--only --without --no-host --rtol --atol --json --device --threads --memory --time-limit -q -v -h --help' ;;
    info) options='--tensors --key --json --device --threads --memory --time-limit -q -v -h --help' ;;
    check) options='--json --device --threads --memory --time-limit -q -v -h --help' ;;
    convert) options='--type --pure --imatrix --errors --json --device --threads --memory --time-limit -q -v -h --help' ;;
    tokenize) options='--ids --no-special -0 --chat --template --system --parse-special --decode --json --device --threads --memory --time-limit -q -v -h --help' ;;
    generate) options='-p --prompt -f --no-special --no-echo -n --temperature --top-k --top-p --min-p --repeat-penalty --repeat-last-n --frequency-penalty --presence-penalty --typical-p --top-n-sigma --xtc-probability --xtc-threshold --dynatemp-range --dynatemp-exponent --dry-multiplier --dry-base --mirostat-tau --mirostat-eta --dry-last-n --dry-breaker --logit-bias --grammar --regex --ban --seed --stop --ahead --lookup --draft --draft-tokens --ignore-end --shift --save --restore --context --chunk --cache --lora --exact --dry-run --json --device --threads --memory --time-limit -q -v -h --help' ;;
    chat) options='-p --prompt --system --template --parse-special --templates -n --temperature --top-k --top-p --min-p --repeat-penalty --repeat-last-n --frequency-penalty --presence-penalty --typical-p --top-n-sigma --xtc-probability --xtc-threshold --dynatemp-range --dynatemp-exponent --dry-multiplier --dry-base --mirostat-tau --mirostat-eta --dry-last-n --dry-breaker --logit-bias --grammar --regex --ban --seed --stop --ahead --lookup --draft --draft-tokens --ignore-end --shift --context --chunk --cache --lora --exact --dry-run --json --device --threads --memory --time-limit -q -v -h --help' ;;
    pull) options='--json --device --threads --memory --time-limit -q -v -h --help' ;;
    embed) options='--out --dimensions --no-truncate --context --chunk --cache --lora --exact --dry-run --json --device --threads --memory --time-limit -q -v -h --help' ;;
    rerank) options='--query --top --context --chunk --cache --lora --exact --dry-run --json --device --threads --memory --time-limit -q -v -h --help' ;;
    perplexity) options='--window --stride --tokens --context --chunk --cache --lora --exact --dry-run --json --device --threads --memory --time-limit -q -v -h --help' ;;
    imatrix) options='--out --more --window --tokens --context --chunk --cache --lora --exact --dry-run --json --device --threads --memory --time-limit -q -v -h --help' ;;
    logits) options='--tokens --out --context --chunk --cache --lora --exact --dry-run --json --device --threads --memory --time-limit -q -v -h --help' ;;
    serve) options='--host --port --parallel --models-memory --template --lookup --draft --draft-tokens --api-key --api-key-file --cors --tls-key --no-page --max-body --max-requests --max-connections --max-seconds --context --chunk --cache --lora --exact --dry-run --json --device --threads --memory --time-limit -q -v -h --help' ;;
    help) options='ops graph eval devices plan run compare conform bench trace onnx-test info check convert tokenize generate chat pull embed rerank perplexity imatrix logits serve' ;;
  esac
  case $word in
    -*) COMPREPLY=($(compgen -W "$options" -- "$word")) ;;
    *) if [ "$command" = help ]; then COMPREPLY=($(compgen -W "$options" -- "$word")); fi ;;
  esac
}
complete -o default -F _rlx rlx
