// The functions of primsel.h that a page needs, over primsel.wasm.

const ENOENT = 44, EBADF = 8;

// The system's functions that the library imports: a clock, and files of which there are none. `memory` returns the
// module's memory.
function system(memory) {
    const view = () => new DataView(memory().buffer);
    const none = (status) => () => status;
    return {
        environ_get: none(0),
        environ_sizes_get: (count, bytes) => { view().setUint32(count, 0, true); view().setUint32(bytes, 0, true); return 0; },
        clock_time_get: (clock, precision, result) => {
            view().setBigUint64(result, BigInt(Math.round((clock === 0 ? Date.now() : performance.now()) * 1e6)), true);
            return 0;
        },
        fd_write: (file, parts, count, written) => {
            let text = '', bytes = 0;
            for (let i = 0; i < count; ++i) {
                const at = view().getUint32(parts + 8 * i, true), size = view().getUint32(parts + 8 * i + 4, true);
                text += new TextDecoder().decode(new Uint8Array(memory().buffer, at, size));
                bytes += size;
            }
            console.log(text);
            view().setUint32(written, bytes, true);
            return 0;
        },
        path_open: none(ENOENT),
        fd_close: none(EBADF), fd_fdstat_get: none(EBADF), fd_fdstat_set_flags: none(EBADF), fd_filestat_get: none(EBADF),
        fd_pread: none(EBADF), fd_prestat_get: none(EBADF), fd_prestat_dir_name: none(EBADF), fd_read: none(EBADF),
        fd_seek: none(EBADF),
        proc_exit: (status) => { throw new Error(`primsel ended with ${status}`); },
    };
}

// Compiles the library: `code` is the bytes of primsel.wasm.
export async function load(code) {
    let library;
    const { instance } = await WebAssembly.instantiate(code, { wasi_snapshot_preview1: system(() => library.memory) });
    library = instance.exports;
    library._initialize();
    return library;
}

function textAt(library, at) {
    const bytes = new Uint8Array(library.memory.buffer);
    return new TextDecoder().decode(bytes.slice(at, bytes.indexOf(0, at)));
}
function check(library, status) {
    if (status !== 0) throw new Error(textAt(library, library.primsel_last_error()));
}

// A planned network of one input and one output.
export class Engine {
    // `model`: the bytes of an ONNX file, an ArrayBuffer. `size`: height and width of its images, where the file leaves them open.
    constructor(library, model, size) {
        this.library = library;
        const slot = library.malloc(16), bytes = library.malloc(model.byteLength);
        const word = (offset) => new DataView(library.memory.buffer).getUint32(slot + offset, true);
        new Uint8Array(library.memory.buffer).set(new Uint8Array(model), bytes);
        check(library, library.primsel_options_new(slot));
        const options = word(0);
        if (size) check(library, library.primsel_options_set_size(options, size, size));
        check(library, library.primsel_network_parse(bytes, model.byteLength, options, slot));
        const network = word(0);
        library.free(bytes);
        check(library, library.primsel_engine_new(network, options, slot));
        this.engine = word(0);
        library.primsel_network_free(network);
        library.primsel_options_free(options);
        const tensor = library.malloc(20);
        const floats = (status) => { check(library, status); return new DataView(library.memory.buffer).getUint32(tensor + 12, true); };
        this.srcFloats = floats(library.primsel_engine_input(this.engine, 0, tensor));
        this.dstFloats = floats(library.primsel_engine_output(this.engine, 0, tensor));
        this.src = library.malloc(4 * this.srcFloats);
        this.dst = library.malloc(4 * this.dstFloats);
        library.free(tensor);
        library.free(slot);
    }
    // Returns the scores, floats that stay valid until the next run, and the milliseconds that the run took.
    run(image) {
        const { library, engine, src, dst, srcFloats, dstFloats } = this;
        new Float32Array(library.memory.buffer, src, srcFloats).set(image);
        const start = performance.now();
        check(library, library.primsel_engine_run(engine, src, srcFloats, dst, dstFloats));
        const milliseconds = performance.now() - start;
        return { scores: new Float32Array(library.memory.buffer, dst, dstFloats), milliseconds };
    }
}
