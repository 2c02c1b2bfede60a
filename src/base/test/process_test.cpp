#include "base/process.hpp"

#include <gtest/gtest.h>

namespace {

using plx::processor_model;

TEST(Process, TheModelOfAProcessorIsItsNameOrItsNumbers) {
  EXPECT_EQ(processor_model("processor\t: 0\nmodel\t\t: 79\nmodel name\t: A B: C\nstepping\t: 1\n\nmodel name\t: D\n"),
            "A B: C");
  EXPECT_EQ(processor_model("model name\t: last line"), "last line");
  // aarch64
  EXPECT_EQ(processor_model("processor\t: 0\nBogoMIPS\t: 50.00\nCPU implementer\t: 0x41\nCPU architecture: 8\n"
                            "CPU variant\t: 0x3\nCPU part\t: 0xd0c\nCPU revision\t: 1\n"),
            "implementer 0x41 part 0xd0c");
}

TEST(Process, AModelThatIsNotStatedIsUnknown) {
  for (const char* text :
       {"", "model name", "no model name\t: A\n", "CPU implementer\t: 0x41\n", "CPU part\t: 0xd0c\n"})
    EXPECT_EQ(processor_model(text), "unknown") << text;
}

TEST(Process, TheModelOfThisProcessorIsKnown) { EXPECT_NE(processor_model(), "unknown"); }

}  // namespace
