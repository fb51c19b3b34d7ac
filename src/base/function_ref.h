#pragma once
// FunctionRef<R(Arguments...)>: refers to something that can be called, without owning or copying it: a parameter of functions
// that call back while they run. Unlike a template's parameter it lets the function be compiled once.

#include <concepts>
#include <memory>
#include <type_traits>
#include <utility>

namespace spile {

template <typename Signature>
class FunctionRef;

// REQUIRES: the object that it was made from outlives it.
template <typename R, typename... Arguments>
class FunctionRef<R(Arguments...)> {
 public:
  template <typename F>
    requires(!std::same_as<std::remove_cvref_t<F>, FunctionRef> && std::is_class_v<std::remove_reference_t<F>>)
  FunctionRef(F&& function)
      : object_(const_cast<void*>(static_cast<const void*>(std::addressof(function)))),
        call_([](void* object, Arguments... arguments) -> R {
          return (*static_cast<std::remove_reference_t<F>*>(object))(std::forward<Arguments>(arguments)...);
        }) {}

  FunctionRef(R (*function)(Arguments...))
      : object_(reinterpret_cast<void*>(function)), call_([](void* object, Arguments... arguments) -> R {
          return reinterpret_cast<R (*)(Arguments...)>(object)(std::forward<Arguments>(arguments)...);
        }) {}

  R operator()(Arguments... arguments) const { return call_(object_, std::forward<Arguments>(arguments)...); }

 private:
  void* object_;
  R (*call_)(void*, Arguments...);
};

}  // namespace spile
