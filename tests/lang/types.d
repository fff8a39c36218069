/*
 * Each name of an integer type: its size, and the value of -1 in it; computed by a program in C,
 * with typedefs as in Solaris' sys/types.h.
 */
BEGIN
{
	printf("int %d %d\n", sizeof (int), (int)-1);
	printf("unsigned int %d %d\n", sizeof (unsigned int), (unsigned int)-1);
	printf("char %d %d\n", sizeof (char), (char)-1);
	printf("unsigned char %d %d\n", sizeof (unsigned char), (unsigned char)-1);
	printf("short %d %d\n", sizeof (short), (short)-1);
	printf("unsigned short %d %d\n", sizeof (unsigned short), (unsigned short)-1);
	printf("int64_t %d %d\n", sizeof (int64_t), (int64_t)-1);
	printf("uint64_t %d %d\n", sizeof (uint64_t), (uint64_t)-1);
	printf("signed char %d %d\n", sizeof (signed char), (signed char)-1);
	printf("signed %d %d\n", sizeof (signed), (signed)-1);
	printf("signed int %d %d\n", sizeof (signed int), (signed int)-1);
	printf("unsigned %d %d\n", sizeof (unsigned), (unsigned)-1);
	printf("short int %d %d\n", sizeof (short int), (short int)-1);
	printf("unsigned short int %d %d\n", sizeof (unsigned short int), (unsigned short int)-1);
	printf("long %d %d\n", sizeof (long), (long)-1);
	printf("long int %d %d\n", sizeof (long int), (long int)-1);
	printf("signed long %d %d\n", sizeof (signed long), (signed long)-1);
	printf("unsigned long %d %d\n", sizeof (unsigned long), (unsigned long)-1);
	printf("unsigned long int %d %d\n", sizeof (unsigned long int), (unsigned long int)-1);
	printf("long long %d %d\n", sizeof (long long), (long long)-1);
	printf("long long int %d %d\n", sizeof (long long int), (long long int)-1);
	printf("unsigned long long %d %d\n", sizeof (unsigned long long), (unsigned long long)-1);
	printf("unsigned long long int %d %d\n", sizeof (unsigned long long int), (unsigned long long int)-1);
	printf("int8_t %d %d\n", sizeof (int8_t), (int8_t)-1);
	printf("int16_t %d %d\n", sizeof (int16_t), (int16_t)-1);
	printf("int32_t %d %d\n", sizeof (int32_t), (int32_t)-1);
	printf("uint8_t %d %d\n", sizeof (uint8_t), (uint8_t)-1);
	printf("uint16_t %d %d\n", sizeof (uint16_t), (uint16_t)-1);
	printf("uint32_t %d %d\n", sizeof (uint32_t), (uint32_t)-1);
	printf("uchar_t %d %d\n", sizeof (uchar_t), (uchar_t)-1);
	printf("ushort_t %d %d\n", sizeof (ushort_t), (ushort_t)-1);
	printf("uint_t %d %d\n", sizeof (uint_t), (uint_t)-1);
	printf("ulong_t %d %d\n", sizeof (ulong_t), (ulong_t)-1);
	printf("longlong_t %d %d\n", sizeof (longlong_t), (longlong_t)-1);
	printf("u_longlong_t %d %d\n", sizeof (u_longlong_t), (u_longlong_t)-1);
	printf("intptr_t %d %d\n", sizeof (intptr_t), (intptr_t)-1);
	printf("uintptr_t %d %d\n", sizeof (uintptr_t), (uintptr_t)-1);
	printf("size_t %d %d\n", sizeof (size_t), (size_t)-1);
	printf("ssize_t %d %d\n", sizeof (ssize_t), (ssize_t)-1);
	printf("off_t %d %d\n", sizeof (off_t), (off_t)-1);
	printf("pid_t %d %d\n", sizeof (pid_t), (pid_t)-1);
	printf("id_t %d %d\n", sizeof (id_t), (id_t)-1);
	printf("ipaddr_t %d %d\n", sizeof (ipaddr_t), (ipaddr_t)-1);
	printf("time_t %d %d\n", sizeof (time_t), (time_t)-1);
	printf("hrtime_t %d %d\n", sizeof (hrtime_t), (hrtime_t)-1);
	printf("processorid_t %d %d\n", sizeof (processorid_t), (processorid_t)-1);
}
