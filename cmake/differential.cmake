# test/fuzz/differential/worker.cpp -> bin/differential_worker, which test/fuzz/differential/differential.py builds and runs.
if(TARGET primsel::onnx)
    add_executable(differential_worker EXCLUDE_FROM_ALL ${PROJECT_SOURCE_DIR}/test/fuzz/differential/worker.cpp)
    primsel_own(differential_worker)
endif()
