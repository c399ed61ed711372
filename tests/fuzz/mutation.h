// Broken messages made from good ones by seeded mutation.
#pragma once

#include <google/protobuf/message.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "berth/sdk/random.h"

namespace berth::test {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

/// A number that is rarely where one is expected.
inline std::int64_t odd_number(Random& random) {
  constexpr std::int64_t kOdd[] = {0,
                                   -1,
                                   1,
                                   2,
                                   -2,
                                   7,
                                   64,
                                   1000,
                                   std::int64_t{1} << 31,
                                   -(std::int64_t{1} << 31) - 1,
                                   std::int64_t{1} << 48,
                                   std::numeric_limits<std::int64_t>::max(),
                                   std::numeric_limits<std::int64_t>::min()};
  return kOdd[random.below(std::size(kOdd))];
}

/// All messages inside `message`, itself included, and all strings.
inline void collect(Message& message, std::vector<Message*>& messages,
                    std::vector<std::string>& texts) {
  messages.push_back(&message);
  const auto* const reflection = message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection->ListFields(message, &fields);
  for (const auto* const field : fields) {
    const int count = field->is_repeated() ? reflection->FieldSize(message, field) : 1;
    for (int i = 0; i < count; ++i) {
      const bool repeated = field->is_repeated();
      if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
        collect(repeated ? *reflection->MutableRepeatedMessage(&message, field, i)
                         : *reflection->MutableMessage(&message, field),
                messages, texts);
      } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_STRING) {
        texts.push_back(repeated ? reflection->GetRepeatedString(message, field, i)
                                 : reflection->GetString(message, field));
      }
    }
  }
}

/// Changes, clears, drops or repeats `field`; `texts` may stand where it has text.
inline void mutate_field(Message& message, const FieldDescriptor* field,
                         const std::vector<std::string>& texts, Random& random) {
  const auto* const reflection = message.GetReflection();
  if (field->is_repeated()) {
    const int size = reflection->FieldSize(message, field);
    if (size > 0 && random.below(3) == 0) {
      reflection->SwapElements(&message, field, static_cast<int>(random.below(size)), size - 1);
      return reflection->RemoveLast(&message, field);
    }
    switch (field->cpp_type()) {
      case FieldDescriptor::CPPTYPE_INT64:
        if (size > 0 && random.below(2) == 0) {
          return reflection->SetRepeatedInt64(&message, field, static_cast<int>(random.below(size)),
                                              odd_number(random));
        }
        return reflection->AddInt64(&message, field, odd_number(random));
      case FieldDescriptor::CPPTYPE_STRING:
        return reflection->AddString(&message, field, texts[random.below(texts.size())]);
      case FieldDescriptor::CPPTYPE_MESSAGE:
        if (size > 0) {  // once more, from anywhere in the list
          const Message& chosen =
              reflection->GetRepeatedMessage(message, field, static_cast<int>(random.below(size)));
          std::unique_ptr<Message> copy(chosen.New());
          copy->CopyFrom(chosen);
          reflection->AddAllocatedMessage(&message, field, copy.release());
        }
        return;
      default:
        return;
    }
  }
  if (random.below(4) == 0) return reflection->ClearField(&message, field);
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT64:
      return reflection->SetInt64(&message, field, odd_number(random));
    case FieldDescriptor::CPPTYPE_INT32:
      return reflection->SetInt32(&message, field, static_cast<std::int32_t>(random.below(30)));
    case FieldDescriptor::CPPTYPE_ENUM:
      return reflection->SetEnumValue(&message, field, static_cast<int>(random.below(16)));
    case FieldDescriptor::CPPTYPE_STRING:
      return reflection->SetString(&message, field, texts[random.below(texts.size())]);
    default:
      return;
  }
}

/// Changes one field somewhere in `model`; `words` may stand where it has text.
inline void mutate_structure(Message& model, const std::vector<std::string>& words,
                             Random& random) {
  std::vector<Message*> messages;
  std::vector<std::string> texts = words;
  collect(model, messages, texts);
  Message& message = *messages[random.below(messages.size())];
  std::vector<const FieldDescriptor*> fields;
  message.GetReflection()->ListFields(message, &fields);
  if (random.below(4) == 0 || fields.empty()) {  // one that is not set, too
    const auto* const descriptor = message.GetDescriptor();
    if (descriptor->field_count() == 0) return;
    fields = {descriptor->field(static_cast<int>(random.below(descriptor->field_count())))};
  }
  mutate_field(message, fields[random.below(fields.size())], texts, random);
}

/// Changes, drops or repeats a few bytes somewhere.
inline void mutate_bytes(std::string& bytes, Random& random) {
  if (bytes.empty()) return;
  const std::size_t at = random.below(bytes.size());
  const std::size_t length = std::min<std::size_t>(random.below(16), bytes.size() - at);
  switch (random.below(5)) {
    case 0:
      bytes[at] = static_cast<char>(random.next());
      return;
    case 1:
      bytes[at] = static_cast<char>(bytes[at] ^ (1 << random.below(8)));
      return;
    case 2:
      bytes.resize(at);
      return;
    case 3:
      bytes.erase(at, length);
      return;
    default:
      bytes.insert(random.below(bytes.size()), bytes.substr(at, length));
      return;
  }
}

/// FUZZ_ROUNDS: a longer or a shorter run than the suite's.
inline std::uint64_t rounds() {
  const char* const stated = std::getenv("FUZZ_ROUNDS");
  constexpr std::uint64_t kRounds = 3000;
  return stated != nullptr ? std::strtoull(stated, nullptr, 10) : kRounds;
}

}  // namespace berth::test
