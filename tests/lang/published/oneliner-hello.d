// args: -n 'dtrace:::BEGIN { trace("hello, world"); exit(0); }'
/* Oracle Linux DTrace Guide, Create a DTrace Script: hello.d */
