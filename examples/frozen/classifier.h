/* A network as a function of C. */
#ifndef CLASSIFIER_H
#define CLASSIFIER_H

#ifdef __cplusplus
extern "C" {
#endif

enum { classifier_pixels = 3 * 224 * 224, classifier_classes = 1000 };

/* Scores an image of 3 x 224 x 224 floats (c, h, w): classifier_classes floats. It may be called by one thread at a time.
   Returns null, or why the network cannot run. */
const char* classify(const float* image, float* scores);

#ifdef __cplusplus
}
#endif

#endif
