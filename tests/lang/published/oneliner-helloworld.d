// args: -n 'BEGIN {printf("helloworld\n");}'
/* Oracle Linux DTrace, hello world in a line */
