// Times networks by primsel.wasm beside ONNX Runtime's WebAssembly, both with vectors and one thread, in turns:
//     node engines.mjs <primsel.wasm> <folder of onnxruntime-web> <model.onnx>...
// examples/browser/build.py makes primsel.wasm and fashion.onnx; `npm install onnxruntime-web` the folder, in node_modules.
import { readFileSync } from 'node:fs';
import { basename, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

const ROUNDS = 31, SIZE = 224;

const here = (path) => pathToFileURL(resolve(path)).href;
const [code, folder, ...models] = process.argv.slice(2);
const source = readFileSync(new URL('../../examples/browser/primsel.js', import.meta.url), 'utf8');
const { Engine, load } = await import(`data:text/javascript,${encodeURIComponent(source)}`);
const { default: ort } = await import(here(`${folder}/dist/ort.node.min.mjs`)).then((module) => ({ default: module.default ?? module }));
ort.env.wasm.numThreads = 1;
const median = (times) => times.sort((a, b) => a - b)[times.length >> 1];

const library = await load(readFileSync(code));
console.log(`primsel, ONNX Runtime Web ${JSON.parse(readFileSync(`${folder}/package.json`)).version}, Node.js ${process.version}; medians of ${ROUNDS} turns`);
console.log('| network | primsel, ms | ONNX Runtime Web, ms | ratio | largest difference |\n|---|---|---|---|---|');
for (const name of models) {
    const bytes = readFileSync(name);
    const engine = new Engine(library, new Uint8Array(bytes).buffer, name.includes('fashion') ? 0 : SIZE);
    const session = await ort.InferenceSession.create(new Uint8Array(bytes), { executionProviders: ['wasm'] });
    const dims = name.includes('fashion') ? [1, 1, 28, 28] : [1, 3, SIZE, SIZE];
    const image = Float32Array.from({ length: engine.srcFloats }, (_, i) => (i * 7919 % 256) / 255);
    const feeds = { [session.inputNames[0]]: new ort.Tensor('float32', image, dims) };
    const ours = [], theirs = [];
    let difference = 0;
    for (let i = -5; i < ROUNDS; ++i) {
        const { scores, milliseconds } = engine.run(image);
        const start = performance.now();
        const result = (await session.run(feeds))[session.outputNames[0]].data;
        const other = performance.now() - start;
        if (i >= 0) ours.push(milliseconds), theirs.push(other);
        scores.forEach((score, j) => { difference = Math.max(difference, Math.abs(score - result[j])); });
    }
    const [a, b] = [median(ours), median(theirs)];
    console.log(`| ${basename(name, '.onnx')} | ${a.toFixed(2)} | ${b.toFixed(2)} | ${(b / a).toFixed(2)} | ${difference.toExponential(1)} |`);
}
process.exit(0);
