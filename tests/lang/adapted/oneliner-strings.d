// args: -qn 'BEGIN { printf("%s %s %s %d\n", basename("/usr/bin/ls"), dirname("/usr/bin/ls"), strjoin("a", "b"), strlen("hello")); exit(0); }'
/* Guide chapter 10, Actions and Subroutines: string subroutines in a line */
