// SPDX-License-Identifier: BSD-2-Clause
// The C++ part of the program that hooks.test records: each form of operator new, with a distinct
// size, and the C++ library's containers.
#include <cstdint>
#include <cstdio>
#include <new>
#include <string>
#include <vector>

namespace {

struct alignas(64) Line {
	unsigned char bytes[5 * 64];
};

int handled;

void handler()
{
	if (++handled == 3)
		std::set_new_handler(nullptr);
}

// Keeps the compiler from removing the allocation.
template <typename T> T *volatile_pointer(T *p)
{
	T *volatile kept = p;
	return kept;
}

bool too_much_is_bad_alloc()
{
	volatile std::size_t bytes = SIZE_MAX / 4;

	std::set_new_handler(handler);
	try {
		volatile_pointer(new char[bytes]);
	} catch (const std::bad_alloc &) {
		return handled == 3 && volatile_pointer(new (std::nothrow) char[bytes]) == nullptr;
	}
	return false;
}

} // namespace

extern "C" int hooks_cxx()
{
	std::vector<std::uint64_t> numbers;
	std::string text;

	for (std::uint64_t i = 0; i < 7; i++)
		delete[] volatile_pointer(new unsigned char[7001]);
	delete[] volatile_pointer(new unsigned char[7013]);
	delete volatile_pointer(new (std::nothrow) unsigned char);
	delete volatile_pointer(new Line);
	delete[] volatile_pointer(new Line[3]);
	::operator delete(::operator new(7019));
	::operator delete(::operator new(7027, std::align_val_t(128)), std::align_val_t(128));
	::operator delete[](::operator new[](7039, std::align_val_t(128), std::nothrow),
			    std::align_val_t(128), std::nothrow);
	::operator delete(::operator new(7043, std::nothrow), std::nothrow);
	numbers.reserve(1000);
	text.assign(7057, 'x');
	return too_much_is_bad_alloc() ? 0 : 1;
}
