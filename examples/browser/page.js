import { Engine, load } from './primsel.js';

const CLASSES = ['T-shirt', 'trousers', 'pullover', 'dress', 'coat', 'sandal', 'shirt', 'sneaker', 'bag', 'boot'];
const SIZE = 28;

const pad = document.querySelector('canvas'), ink = pad.getContext('2d', { willReadFrequently: true });
const answer = document.querySelector('#answer'), table = document.querySelector('#scores');
const small = Object.assign(document.createElement('canvas'), { width: SIZE, height: SIZE }).getContext('2d', { willReadFrequently: true });
let engine;

function clear() {
    ink.fillStyle = 'black';
    ink.fillRect(0, 0, pad.width, pad.height);
}
// The pixels as the network was trained: 28x28, from 0 for the background, which is dark, to 1.
function pixels() {
    small.imageSmoothingQuality = 'high';
    small.drawImage(pad, 0, 0, SIZE, SIZE);
    const rgba = small.getImageData(0, 0, SIZE, SIZE).data;
    const image = Float32Array.from({ length: SIZE * SIZE }, (_, i) => (rgba[4 * i] + rgba[4 * i + 1] + rgba[4 * i + 2]) / 765);
    const isLight = [0, SIZE - 1, SIZE * (SIZE - 1), SIZE * SIZE - 1].every((corner) => image[corner] > 0.5);
    return isLight ? image.map((value) => 1 - value) : image;
}
function classify() {
    if (!engine) return;
    const { scores, milliseconds } = engine.run(pixels());
    const best = scores.indexOf(Math.max(...scores));
    answer.textContent = `${CLASSES[best]}, in ${milliseconds.toFixed(2)} ms`;
    answer.dataset.class = best;
    table.replaceChildren(...CLASSES.map((name, i) => {
        const row = document.createElement('tr');
        row.innerHTML = `<td>${name}</td><td><meter value="${scores[i]}"></meter></td><td>${(100 * scores[i]).toFixed(1)} %</td>`;
        return row;
    }));
}
async function show(file) {
    const image = await createImageBitmap(file);
    clear();
    ink.drawImage(image, 0, 0, pad.width, pad.height);
    classify();
}

pad.addEventListener('pointerdown', (event) => {
    ink.beginPath();
    ink.moveTo(event.offsetX, event.offsetY);
    pad.setPointerCapture(event.pointerId);
});
pad.addEventListener('pointermove', (event) => {
    if (event.buttons === 0) return;
    Object.assign(ink, { lineWidth: 40, lineCap: 'round', lineJoin: 'round', strokeStyle: '#bbb' });
    ink.lineTo(event.offsetX, event.offsetY);
    ink.stroke();
});
pad.addEventListener('pointerup', classify);
document.querySelector('#clear').addEventListener('click', () => { clear(); classify(); });
document.querySelector('input').addEventListener('change', (event) => show(event.target.files[0]));
document.addEventListener('dragover', (event) => event.preventDefault());
document.addEventListener('drop', (event) => {
    event.preventDefault();
    show(event.dataTransfer.files[0]);
});

clear();
try {
    const [code, model] = await Promise.all(['primsel.wasm', 'fashion.onnx'].map(async (name) => (await fetch(name)).arrayBuffer()));
    engine = new Engine(await load(code), model);
    answer.textContent = 'Draw, or drop a picture.';
} catch (fault) {
    answer.textContent = fault.message;
}
