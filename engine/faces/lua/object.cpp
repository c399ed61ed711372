#include "object.h"

#include <cstring>
#include <new>

#include "berth/support/text.h"
#include "call.h"
#include "state.h"

namespace berth::lua {
namespace {

struct Box {
  const Type* type;
  std::shared_ptr<void> object;
};

// Keys into the registry: their addresses.
const char kBoxMetatables = 0;  // marks our metatables: metatable -> lightuserdata(Type)
const char kBoxes = 0;          // weak: lightuserdata(object) -> its userdata

void* key_of(const void* key) {
  return const_cast<void*>(key);
}

/// The box at `index`; nullptr for any other value.
Box* box_at(lua_State* L, int index) {
  void* memory = lua_touserdata(L, index);
  if (memory == nullptr || !lua_getmetatable(L, index)) return nullptr;
  lua_pushlightuserdata(L, key_of(&kBoxMetatables));
  lua_rawget(L, LUA_REGISTRYINDEX);
  lua_insert(L, -2);
  lua_rawget(L, -2);
  const bool ours = lua_islightuserdata(L, -1);
  lua_pop(L, 2);
  return ours ? static_cast<Box*>(memory) : nullptr;
}

/// The registry's table under `key`, made where it is not there.
void push_registry_table(lua_State* L, const void* key, const char* mode) {
  lua_pushlightuserdata(L, key_of(key));
  lua_rawget(L, LUA_REGISTRYINDEX);
  if (lua_istable(L, -1)) return;
  lua_pop(L, 1);
  lua_newtable(L);
  if (mode != nullptr) {
    lua_newtable(L);
    lua_pushstring(L, mode);
    lua_setfield(L, -2, "__mode");
    lua_setmetatable(L, -2);
  }
  lua_pushlightuserdata(L, key_of(key));
  lua_pushvalue(L, -2);
  lua_rawset(L, LUA_REGISTRYINDEX);
}

Box& self_box(Call& call) {
  Box* box = box_at(call.L, 1);
  if (box == nullptr) throw Error(ErrorCode::invalid_argument, "a Berth object expected");
  return *box;
}

int equal(Call& call) {
  const Box* left = box_at(call.L, 1);
  const Box* right = box_at(call.L, 2);
  lua_pushboolean(call.L, left != nullptr && right != nullptr && left->type == right->type &&
                              left->object == right->object && left->object != nullptr);
  return 1;
}

int to_string(Call& call) {
  const Box& box = self_box(call);
  const std::string text =
      cat(box.type->name, " ",
          box.object == nullptr ? "(released)" : box.type->describe(box.object.get()));
  lua_pushlstring(call.L, text.data(), text.size());
  return 1;
}

constexpr Binding kCollect{"object:__gc", &release_object};
constexpr Binding kRelease{"object:release", &release_object};
constexpr Binding kEqual{"object:__eq", &equal};
constexpr Binding kToString{"object:__tostring", &to_string};

}  // namespace

const char* Binding::key() const noexcept {
  return std::strpbrk(name, ".:") + 1;
}

void push_binding(State& state, lua_State* L, const Binding& binding) {
  lua_pushlightuserdata(L, key_of(&binding));
  lua_pushlightuserdata(L, &state);
  lua_pushcclosure(L, &enter_binding, 2);
}

int release_object(Call& call) {
  Box& box = self_box(call);
  if (box.object == nullptr) return 0;
  push_registry_table(call.L, &kBoxes, "v");
  lua_pushlightuserdata(call.L, box.object.get());
  lua_rawget(call.L, -2);
  // The weak table has let go of a collected box already, and a newer one may have its place.
  if (lua_touserdata(call.L, -1) == &box) {
    lua_pushlightuserdata(call.L, box.object.get());
    lua_pushnil(call.L);
    lua_rawset(call.L, -4);
  }
  --call.state.live_objects;
  std::shared_ptr<void> last = std::move(box.object);  // its destructor may come back here
  return 0;
}

void register_type(State& state, lua_State* L, const Type& type) {
  lua_pushlightuserdata(L, key_of(&type));
  lua_newtable(L);  // the metatable
  lua_createtable(L, 0, static_cast<int>(type.methods.size()) + 1);
  for (const Binding& method : type.methods) {
    push_binding(state, L, method);
    lua_setfield(L, -2, method.key());
  }
  push_binding(state, L, kRelease);
  lua_setfield(L, -2, kRelease.key());
  lua_setfield(L, -2, "__index");
  for (const Binding* metamethod : {&kCollect, &kEqual, &kToString}) {
    push_binding(state, L, *metamethod);
    lua_setfield(L, -2, metamethod->key());
  }
  lua_pushstring(L, type.name);  // what getmetatable gives: scripts cannot reach __gc
  lua_setfield(L, -2, "__metatable");

  push_registry_table(L, &kBoxMetatables, nullptr);
  lua_pushvalue(L, -2);
  lua_pushlightuserdata(L, key_of(&type));
  lua_rawset(L, -3);
  lua_pop(L, 1);
  lua_rawset(L, LUA_REGISTRYINDEX);
}

void push_object(State& state, lua_State* L, const Type& type, std::shared_ptr<void> object) {
  reserve_stack(L, 6);
  push_registry_table(L, &kBoxes, "v");
  lua_pushlightuserdata(L, object.get());
  lua_rawget(L, -2);
  if (const auto* known = static_cast<const Box*>(lua_touserdata(L, -1));
      known != nullptr && known->type == &type && known->object == object) {
    lua_remove(L, -2);
    return;
  }
  lua_pop(L, 1);
  void* memory = lua_newuserdata(L, sizeof(Box));
  lua_pushlightuserdata(L, object.get());
  lua_pushvalue(L, -2);
  lua_rawset(L, -4);
  new (memory) Box{&type, std::move(object)};
  ++state.live_objects;
  lua_pushlightuserdata(L, key_of(&type));
  lua_rawget(L, LUA_REGISTRYINDEX);
  lua_setmetatable(L, -2);
  lua_remove(L, -2);
}

// Every method asks this, some a million times a second, so the metatable is not looked up: a
// userdata of this size that begins with the address of a Type is a box.
const std::shared_ptr<void>* object_at(lua_State* L, int index, const Type& type) {
  if (lua_type(L, index) != LUA_TUSERDATA || lua_objlen(L, index) != sizeof(Box)) return nullptr;
  const Box* const box = static_cast<const Box*>(lua_touserdata(L, index));
  return box->type == &type ? &box->object : nullptr;
}

const char* type_name_at(lua_State* L, int index) {
  const Box* box = box_at(L, index);
  return box != nullptr ? box->type->name : luaL_typename(L, index);
}

}  // namespace berth::lua
