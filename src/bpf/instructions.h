#pragma once
// The instructions of eBPF that spile's own small programs are made of. Registers are 0 to 10, offsets in bytes, sizes BPF_W or
// BPF_DW.

#include <linux/bpf.h>

#include <cstdint>

namespace spile::bpf {

constexpr bpf_insn move(int to, int from) {
  return {BPF_ALU64 | BPF_MOV | BPF_X, static_cast<uint8_t>(to & 15), static_cast<uint8_t>(from & 15), 0, 0};
}
constexpr bpf_insn move_number(int to, int32_t number) {
  return {BPF_ALU64 | BPF_MOV | BPF_K, static_cast<uint8_t>(to & 15), 0, 0, number};
}
constexpr bpf_insn add(int to, int32_t number) {
  return {BPF_ALU64 | BPF_ADD | BPF_K, static_cast<uint8_t>(to & 15), 0, 0, number};
}
constexpr bpf_insn load(int to, int from, int16_t offset, uint8_t size) {
  return {static_cast<uint8_t>(BPF_LDX | BPF_MEM | size), static_cast<uint8_t>(to & 15), static_cast<uint8_t>(from & 15), offset,
          0};
}
constexpr bpf_insn store(int to, int16_t offset, int from, uint8_t size) {
  return {static_cast<uint8_t>(BPF_STX | BPF_MEM | size), static_cast<uint8_t>(to & 15), static_cast<uint8_t>(from & 15), offset,
          0};
}
// Compares a register with a number. The distance is the caller's to set (off), in instructions behind this one.
constexpr bpf_insn jump_if(uint8_t condition, int value, int32_t number) {
  return {static_cast<uint8_t>(BPF_JMP | condition | BPF_K), static_cast<uint8_t>(value & 15), 0, 0, number};
}
constexpr bpf_insn call(int32_t helper) { return {BPF_JMP | BPF_CALL, 0, 0, 0, helper}; }
constexpr bpf_insn exit_program() { return {BPF_JMP | BPF_EXIT, 0, 0, 0, 0}; }

}  // namespace spile::bpf
