/* Solaris Dynamic Tracing Guide, chapter 7, Enumerations and Inlines */
enum color_rgb { RED, GREEN, BLUE };
inline int hue = GREEN;
inline string desc = "something big";

BEGIN
{
	trace(hue == GREEN ? desc : "other");
	trace(sizeof (int) + BLUE);
}
