// SPDX-License-Identifier: BSD-2-Clause
// The C++ part of the guest memory_cxx: lists of objects that are made by each form of operator new,
// without a C++ library.
//
//	form		allocations	bytes	freed
//	new		11		24	7
//	new[]		5		13 * 8	3
//	new, aligned	3		128	2
//	new, nothrow	2		24	2

using size_t = decltype(sizeof(0));

namespace std {
struct nothrow_t {};
enum class align_val_t : size_t {};
extern const nothrow_t nothrow;
const nothrow_t nothrow;
} // namespace std

void *operator new(size_t bytes, const std::nothrow_t &) noexcept;
void operator delete(void *memory, const std::nothrow_t &) noexcept;

namespace {

struct Node {
	Node *next;
	unsigned long value, padding;
};
static_assert(sizeof(Node) == 24, "the table above");

struct alignas(64) Line {
	unsigned char bytes[128];
};

template <typename T> [[gnu::noinline]] T *make()
{
	return new T();
}

class List {
public:
	[[gnu::noinline]] void push(unsigned long value)
	{
		Node *node = make<Node>();

		node->value = value;
		node->next = first;
		first = node;
	}

	[[gnu::noinline]] void pop()
	{
		Node *node = first;

		first = node->next;
		delete node;
	}

private:
	Node *first = nullptr;
};

List list;

} // namespace

extern "C" unsigned long memory_cxx()
{
	unsigned long *arrays[5];
	Line *lines[3];
	Node *nodes[2];

	for (unsigned long i = 0; i < 11; i++)
		list.push(i);
	for (int i = 0; i < 7; i++)
		list.pop();
	for (auto &array : arrays)
		array = new unsigned long[13];
	for (int i = 0; i < 3; i++)
		delete[] arrays[i];
	for (auto &line : lines)
		line = make<Line>();
	for (int i = 0; i < 2; i++)
		delete lines[i];
	for (auto &node : nodes)
		node = new (std::nothrow) Node();
	for (auto *node : nodes)
		delete node;
	return 11 + 5 + 3 + 2;
}
