# SPDX-License-Identifier: BSD-2-Clause
# bash completion for ringside: `ringside complete` lists the possible words.

_ringside()
{
	local rest=${COMP_LINE:0:COMP_POINT} words=() lines=() word next line i

	# bash also splits words at ':' and '=', as in a probe: join parts without blanks between
	# them.
	for ((i = 0; i <= COMP_CWORD; i++)); do
		next=${rest#"${rest%%[![:space:]]*}"}
		word=${COMP_WORDS[i]}
		[ "$i" -lt "$COMP_CWORD" ] || word=$next
		if [ "$i" -gt 0 ] && [ "$next" = "$rest" ]; then
			words[-1]+=$word
		else
			words+=("$word")
		fi
		rest=${next#"$word"}
	done

	# For bash the word begins after the last of these; in quotes, after the quote.
	local begin= current=${words[-1]} quoted=
	case $current in
	[\'\"]*) quoted=1 ;;
	*[:=]*) begin=${current%"${current##*["$COMP_WORDBREAKS"]}"} ;;
	esac
	words=("${words[@]//[\'\"\\]/}")
	mapfile -t lines < <("${1/#\~\//$HOME/}" complete "${words[@]:1}" 2>/dev/null)
	COMPREPLY=()
	for line in "${lines[@]}"; do
		word=${line%%$'\t'*}
		word=${word#"$begin"}
		case $line in
		:file*) _ringside_paths default -f ;;
		:directory*) _ringside_paths dirnames -d ;;
		:*) ;;
		*)
			if [ -n "$quoted" ]; then
				[[ $word != *[\'\"\\\$\`!]* ]] || continue
			elif [[ $word == *[!A-Za-z0-9_.,:=@/+-]* ]]; then
				printf -v word %q "$word"
			fi
			COMPREPLY+=("$word")
			;;
		esac
	done
}

# Paths are completed by bash itself if there are no other words.
_ringside_paths()
{
	compopt -o "$1"
	[ ${#COMPREPLY[@]} -eq 0 ] && return
	compopt -o filenames
	mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen "$2" -- "$current")
}

complete -F _ringside ringside
