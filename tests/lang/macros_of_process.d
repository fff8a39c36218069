// args: -q -x target=42 -s {}
/* Macros of the process that runs the program; -x target sets $target. */
BEGIN
{
	printf("%d %d %d %d %d\n", $target, $pid > 1, $ppid >= 0, $pgid >= 0, $sid >= 0);
	printf("%d %d\n", $uid == $euid, $gid == $egid);
}
