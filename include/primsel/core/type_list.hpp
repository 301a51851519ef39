#pragma once

#include <primsel/core/config.hpp>

#include <cstddef>
#include <type_traits>

namespace primsel::inline PRIMSEL_ABI {

/// A list of types, used as a value: `with` appends, `without` removes, `index_of` finds.
template <class... Ts>
struct TypeList {
    static constexpr std::size_t size = sizeof...(Ts);

    template <class... More>
    using with = TypeList<Ts..., More...>;

    template <class T>
    static constexpr bool contains = (std::is_same_v<T, Ts> || ...);

    /// The position of the first T; the list's size if there is none.
    template <class T>
    static constexpr std::size_t index_of = [] {
        std::size_t index = 0;
        (void)((std::is_same_v<T, Ts> || (++index, false)) || ...);
        return index;
    }();

    template <template <class...> class To>
    using apply = To<Ts...>;

private:
    template <class... Kept>
    struct Filter {
        template <class T, bool keep>
        using add = std::conditional_t<keep, Filter<Kept..., T>, Filter>;
        using list = TypeList<Kept...>;
    };
    template <class Kept, class Removed, class... Rest>
    struct Without {
        using type = Kept;
    };
    template <class Kept, class Removed, class First, class... Rest>
    struct Without<Kept, Removed, First, Rest...>
        : Without<typename Kept::template add<First, !Removed::template contains<First>>, Removed, Rest...> {};

public:
    template <class... Removed>
    using without = typename Without<Filter<>, TypeList<Removed...>, Ts...>::type::list;
};

template <class T>
inline constexpr bool is_type_list = false;
template <class... Ts>
inline constexpr bool is_type_list<TypeList<Ts...>> = true;

/// The concatenation of the lists.
template <class... Lists>
struct Concatenate;
template <class... Ts>
struct Concatenate<TypeList<Ts...>> {
    using type = TypeList<Ts...>;
};
template <class... Ts, class... Us, class... Rest>
struct Concatenate<TypeList<Ts...>, TypeList<Us...>, Rest...> : Concatenate<TypeList<Ts..., Us...>, Rest...> {};
template <class... Lists>
using concatenate = typename Concatenate<Lists...>::type;

}  // namespace primsel::inline PRIMSEL_ABI
