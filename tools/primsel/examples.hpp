// An example of each command, for its --help.
#pragma once

#include <string_view>

namespace cli {

struct Example {
    std::string_view command, text;
};

inline constexpr Example examples[] = {
    {"run", "primsel run resnet18 --image dog.png --mean 0.485,0.456,0.406 --std 0.229,0.224,0.225 --output scores"},
    {"plan", "primsel plan resnet50 --max-error 3e-5 --svg plan.svg --save plan.json"},
    {"explain", "primsel explain resnet18 conv1"},
    {"trace", "primsel trace resnet18 --threads 2 --out trace.svg"},
    {"compare", "primsel compare googlenet --against analytical --against analytical+2"},
    {"calibrate", "primsel calibrate model.onnx --calibrate 5"},
    {"profile", "primsel profile --networks resnet18,vgg11 --budget 30m --out profile.csv --layouts-out layouts.csv"},
    {"fit", "primsel fit --data profile.csv --layouts layouts.csv --out here.model"},
    {"transfer", "primsel transfer --model there.model --data here.csv --layouts here_layouts.csv --out here.model"},
    {"evaluate", "primsel evaluate --costs here.model --data profile.csv --layouts layouts.csv"},
    {"pretrain", "primsel pretrain --profiles bench/profiles/*.csv --convolutions mine.hpp"},
    {"train", "primsel train resnet18 --images x.npy --labels y.npy --epochs 10 --out trained.safetensors"},
    {"accuracy", "primsel accuracy resnet18 --weights trained.safetensors --images x.npy --labels y.npy"},
    {"quantise", "primsel quantise resnet18 --weights w.safetensors --images x.npy --out ranges.json"},
    {"prune", "primsel prune resnet18 --weights w.safetensors --latency 0.5 --multiple 8 --out thin.onnx"},
    {"sensitivity", "primsel sensitivity resnet56 --weights w.safetensors --images x.npy --labels y.npy --out s.csv"},
    {"sweep",
     "primsel sweep sweep.yaml resnet56 --weights w.safetensors --images x.npy --labels y.npy --report sweep.html"},
    {"worker", "primsel worker --queue redis://host:6379 --lease 120"},
    {"report", "primsel report sweep.jsonl --out sweep.html"},
    {"dynamic", "primsel dynamic resnet18 --groups 4 --budget time=20ms --out day.svg"},
    {"forecast", "primsel forecast resnet50 --batch 32 --training"},
    {"search", "primsel search ofa-resnet50 --bound time=20ms --bound training-memory=2G --svg tried.svg"},
    {"list", "primsel list primitives"},
    {"machine", "primsel machine --json"},
    {"export", "primsel export squeezenet1_1 squeezenet.onnx"},
    {"freeze", "primsel freeze mobilenet_v2.onnx --out mobilenet_v2.hpp"},
    {"completion", "primsel completion bash > ~/.local/share/bash-completion/completions/primsel"},
    {"manual", "primsel manual | man -l -"},
};

}  // namespace cli
