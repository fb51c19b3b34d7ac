#pragma once
// The parsed pattern: a tree of nodes, which refer to each other by their indexes in Tree::nodes.

#include <bitset>
#include <string_view>
#include <vector>

#include "regex/mistake.h"

namespace spile::regex {

using ByteSet = std::bitset<256>;

struct Node {
  enum class Kind : uint8_t { kEmpty, kSet, kSequence, kChoice, kRepeat, kGroup, kBegin, kEnd } kind = Kind::kEmpty;
  ByteSet set{};                // kSet
  std::vector<int> children{};  // kSequence, kChoice; one: kRepeat, kGroup
  int least = 0, most = -1;     // kRepeat; most -1: without end
  int group = 0;                // kGroup, from 1
};

struct Tree {
  std::vector<Node> nodes;
  int root = 0;
  int groups = 0;  // without the whole match
};

// Parses `pattern` into an empty tree. Returns false and fills in `mistake` if the pattern is wrong; the tree is then not to be
// used.
bool parse(std::string_view pattern, Tree& tree, Mistake& mistake);

}  // namespace spile::regex
