// Pages that are opened from a disk may not start workers. The search runs in a hidden frame instead.
if (location.protocol === "file:") {
    window.Worker = class extends EventTarget {
        constructor(url) {
            super();
            const frame = document.createElement("iframe");
            frame.hidden = true;
            document.body.appendChild(frame);
            const inner = frame.contentWindow;
            this.waiting = [];
            // What the worker posts comes here; it is loaded before anything is posted to it.
            inner.document.open();
            inner.document.write("<script>postMessage = message => frameElement.receive(message);<\/script>" +
                                 `<script src="${new URL(url, location)}" onload="frameElement.loaded()"><\/script>`);
            inner.document.close();
            frame.receive = data => this.dispatchEvent(new MessageEvent("message", {data}));
            frame.loaded = () => {
                this.post = data => inner.dispatchEvent(new MessageEvent("message", {data}));
                this.waiting.splice(0).forEach(this.post);
            };
        }
        postMessage(data) { this.post ? this.post(data) : this.waiting.push(data); }
        terminate() {}
    };
}
