# SPDX-License-Identifier: BSD-2-Clause
# bash completion for ringside. Options by verb; a test compares them with each verb's --help.

_ringside_options()
{
	case $1 in
	run)
		echo --vcpus --name --memory --timeout --record --handover --ring --poll --mask --sbuf --log --guest-log --last \
			--strict-clock --json --quiet --mode --group --force --help
		;;
	print)
		echo --json --tree --acrn --count --sum --wall --tsc --from --to --cpus --vcpus --vm --probe --limit \
			--freq --xen-log --format --quiet --help
		;;
	script)
		echo --program --script --on --kvm --tracepoint --xen --classes --sbuf --create --keep --duration --buffer --tee --freq --xen-log --format --output --quiet --json --option --cpp --define --include --list \
			--live --no-jitter --no-fast --seed --from --to --binary --compile --disassemble --mode --group --force --help
		;;
	replay)
		echo --output --kernel --initrd --append --guest-dir --exec --disk --snapshot --when --memory --shift --time --size --points --samples \
			--program --script --option --cpp --define --include --list --live --no-jitter --no-fast --seed --from --to --binary \
			--bytes --logs --back --gdb --json --quiet --mode --group --force --help
		;;
	log)
		echo --follow --output --size --files --last --poll --level --cpus --json --quiet --console \
			--memory --mode --group --help
		;;
	list) echo --json --trace --help ;;
	import) echo --output --format --freq --xen-log --quiet --mode --group --force --help ;;
	export) echo --to --output --format --freq --xen-log --quiet --mode --group --help ;;
	record)
		echo --kvm --tracepoint --xen --classes --sbuf --keep --create --exits --output --duration --buffer --poll --cpus --pid --tid --tids --vm --flight --when \
			--memory --once --json --quiet --mode --group --force --help
		;;
	report)
		echo --pid --vcpu --alltids --tid --tids --vm --latency --hist --detail --time --top --than \
			--user --by --cpus --interval --xen --classes --poll --buffer --duration --json --csv --from --to --freq \
			--xen-log --format --quiet --help
		;;
	repair) echo --help ;;
	top) echo --pid --vm --interval --count --batch --user --help ;;
	doctor) echo --json --help ;;
	exits)
		echo --pid --vcpu --alltids --tid --tids --vm --latency --hist --detail --time --top --than \
			--user --interval --json --csv --quiet --help
		;;
	esac
}

_ringside()
{
	local verbs="run exits top record print report script replay log list import export repair doctor help" current=${COMP_WORDS[COMP_CWORD]}
	local verb=${COMP_WORDS[1]} previous=${COMP_WORDS[COMP_CWORD - 1]}

	COMPREPLY=()
	if [ "$COMP_CWORD" -eq 1 ]; then
		mapfile -t COMPREPLY < <(compgen -W "$verbs --version --help" -- "$current")
		return
	fi
	case $previous in
	--handover)
		mapfile -t COMPREPLY < <(compgen -W "doorbell shared" -- "$current")
		return
		;;
	--to)
		# print's --to is a time
		[ "$verb" != export ] || mapfile -t COMPREPLY < <(compgen -W "acrn xentrace" -- "$current")
		return
		;;
	--format | -f)
		mapfile -t COMPREPLY < <(compgen -W "trace.dat xentrace acrn acrnlog" -- "$current")
		return
		;;
	--record | --trace | --output | -o)
		[ "$verb" != export ] || { mapfile -t COMPREPLY < <(compgen -f -- "$current"); return; }
		mapfile -t COMPREPLY < <(compgen -d -- "$current")
		return
		;;
	esac
	if [[ $current == -* ]]; then
		mapfile -t COMPREPLY < <(compgen -W "$(_ringside_options "$verb")" -- "$current")
		return
	fi
	case $verb in
	help) mapfile -t COMPREPLY < <(compgen -W "$verbs" -- "$current") ;;
	print | export) mapfile -t COMPREPLY < <(compgen -f -- "$current") ;;
	report) mapfile -t COMPREPLY < <(compgen -W "exits cpu volume sched hypercalls interrupts io cr3 pm summary" -- "$current"; compgen -f -- "$current") ;;
	repair) mapfile -t COMPREPLY < <(compgen -d -- "$current") ;;
	replay) mapfile -t COMPREPLY < <(compgen -W "record snapshot run seek verify diff" -- "$current"; compgen -f -- "$current") ;;
	log) mapfile -t COMPREPLY < <(compgen -W level -- "$current"; compgen -f -- "$current") ;;
	run | import) mapfile -t COMPREPLY < <(compgen -f -- "$current") ;;
	esac
}

complete -o filenames -F _ringside ringside
